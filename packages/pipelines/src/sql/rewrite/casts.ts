/** Casts in a statement. */

import { SqlError } from '../dialect/dialect.ts';
import { vendorOf } from '../tokens/names.ts';
import type { Node } from '../tokens/tree.ts';
import { type Frame, refuse } from './frame.ts';
import { type Cast, type CastType, renderCast } from './variants.ts';

export function castTo(
  operand: Cast,
  type: CastType,
  safe: boolean,
  node: Node | undefined,
  frame: Frame,
): Cast {
  const dialect = vendorOf(frame.script.names);
  try {
    return renderCast(operand, type, { safe, dialect, looks: frame.hasVariants });
  } catch (error) {
    if (error instanceof SqlError) refuse(frame, node, error.message);
    throw error;
  }
}

/** Whether a cast is DuckDB's own, so that it can stay as it was written. */
export function isSameCast(cast: string, value: string, type: CastType): boolean {
  return [`CAST(${value} AS ${type.sql})`, `TRY_CAST(${value} AS ${type.sql})`].includes(cast);
}
