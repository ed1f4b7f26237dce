/** The version, in step with the binary's: `make sdk` writes it. */
export const VERSION = "0.0.0";
