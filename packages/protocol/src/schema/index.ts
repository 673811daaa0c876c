/** How messages between Holdfast's programs are declared: each once. */

export * from './bounded.ts';
export * from './field.ts';
export * from './messages.ts';
export * from './open-tuple.ts';
export * from './shape.ts';
