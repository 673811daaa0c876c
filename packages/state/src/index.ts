/** The replicated state machine of Holdfast. Pure: the same entries make the same state and outputs, byte for byte. */

export * from './entry.ts';
export * from './output.ts';
