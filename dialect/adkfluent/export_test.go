package adkfluent

// PythonText is for tests outside the package.
var PythonText = pythonText
