/** What a field may be, as data: for documents, bounds and generated tests. */

export type Shape =
  | { readonly kind: 'integer'; readonly min: number; readonly max: number }
  | { readonly kind: 'boolean' }
  /** `maxLength` in UTF-16 units. */
  | { readonly kind: 'text'; readonly maxLength: number }
  /** `orNone`: or there are none. */
  | { readonly kind: 'bytes'; readonly minLength: number; readonly maxLength: number; readonly orNone?: true }
  /** Bytes in a format of their own, named `of`, which the field encodes and decodes. */
  | { readonly kind: 'block'; readonly of: string; readonly maxBytes: number }
  | { readonly kind: 'choice'; readonly of: readonly (string | number)[] }
  | { readonly kind: 'list'; readonly of: Shape; readonly maxLength?: number }
  | { readonly kind: 'record'; readonly fields: Shapes }
  | { readonly kind: 'union'; readonly of: Readonly<Record<string, MessageShape>> }
  /** Of whatever; `maxBytes` as it is encoded. */
  | { readonly kind: 'tuple'; readonly maxBytes: number }
  /** May be missing at the end of its tuple, which means `absent`. */
  | { readonly kind: 'later'; readonly of: Shape; readonly absent: unknown };

export type Shapes = Readonly<Record<string, Shape>>;

export interface MessageShape {
  readonly number: number;
  readonly fields: Shapes;
}
