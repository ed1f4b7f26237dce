package server

func authzenRoutes() []route { return nil }
