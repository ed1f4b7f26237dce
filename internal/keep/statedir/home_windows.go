package statedir

const homeVariable = "USERPROFILE"
