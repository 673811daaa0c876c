/** The harness as a library. The command is main.ts. */

export {};
