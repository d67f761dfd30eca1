/** The command line asks for something that cannot be meant: exit code 2, and a hint at the help. */
export class UsageError extends Error {}
