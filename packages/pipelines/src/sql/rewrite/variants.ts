/**
 * Paths into semi-structured values and casts of them. A VARIANT is DuckDB's JSON. As in Snowflake a path to
 * nothing is NULL, and a text is converted without its quotes.
 */

import { type SourceDialect, translateCast } from '../functions/index.ts';
import { quoteText } from '../tokens/tokens.ts';

/** Whether the SQL of an operand yields a VARIANT. */
export type IsVariant = 'yes' | 'maybe' | 'no';

export type PathStep = { readonly key: string } | { readonly index: string } | { readonly sql: string };

/** A text that is cast to one of these is a value in itself: it is not parsed. */
const variantTypes = ['VARIANT', 'OBJECT', 'ARRAY', 'SUPER'];

/** SQL of a path below a value. Steps known only to the warehouse are subscripts. */
export function renderPath(base: string, steps: readonly PathStep[]): string {
  let sql = base;
  let path = '';
  const flush = () => {
    if (path !== '') sql = `json_extract(${sql}, ${quoteText(`$${path}`)})`;
    path = '';
  };
  for (const step of steps) {
    if ('key' in step) path += renderKey(step.key);
    else if ('index' in step) path += `[${step.index}]`;
    else {
      flush();
      sql = `(${sql})[${step.sql}]`;
    }
  }
  flush();
  return sql;
}

function renderKey(key: string): string {
  return /^[A-Za-z_]\w*$/.test(key) ? `.${key}` : `."${key.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

/** The text of a VARIANT: a text without quotes, other values as JSON. */
export function renderVariantText(sql: string): string {
  const path = /^json_extract\(/.test(sql) && isOneCall(sql);
  return path
    ? `json_extract_string(${sql.slice('json_extract('.length)}`
    : `json_extract_string(${sql}, '$')`;
}

/** Whether the first parenthesis of the SQL is closed by its last character. */
function isOneCall(sql: string): boolean {
  let depth = 0;
  let inText = false;
  for (let index = 0; index < sql.length; index += 1) {
    const character = sql[index];
    if (character === "'") inText = !inText;
    else if (!inText && character === '(') depth += 1;
    else if (!inText && character === ')') {
      depth -= 1;
      if (depth === 0) return index === sql.length - 1;
    }
  }
  return false;
}

export interface Cast {
  readonly sql: string;
  readonly isVariant: IsVariant;
}

/** A type as the statement has it, and as DuckDB writes it. */
export interface CastType {
  readonly name: string;
  readonly args: readonly string[];
  readonly sql: string;
}

export interface CastRules {
  /** TRY_CAST */
  readonly safe: boolean;
  readonly dialect: SourceDialect;
  /** Whether an operand that may be a VARIANT is looked at when the statement runs. */
  readonly looks: boolean;
}

/** A cast of an operand, as the vendor does it. */
export function renderCast(operand: Cast, type: CastType, { safe, dialect, looks }: CastRules): Cast {
  if (variantTypes.includes(type.name))
    return { sql: operand.isVariant === 'yes' ? operand.sql : `to_json(${operand.sql})`, isVariant: 'yes' };
  const word = safe ? 'TRY_CAST' : 'CAST';
  if (type.name === 'JSON') return { sql: `${word}(${operand.sql} AS ${type.sql})`, isVariant: 'yes' };
  const isText = /^(?:VARCHAR|TEXT|STRING|BPCHAR|N?CHAR)\b(?!.*\[)/i.test(type.sql);
  let value = operand.isVariant === 'yes' ? renderVariantText(operand.sql) : operand.sql;
  if (isText && operand.isVariant === 'yes' && type.args.length === 0) return { sql: value, isVariant: 'no' };
  if (isText && operand.isVariant === 'maybe' && looks && type.args.length === 0) {
    const text = `json_extract_string(to_json(${value}), '$')`;
    value = `CASE WHEN typeof(${value}) = 'JSON' THEN ${text} ELSE ${word}(${value} AS ${type.sql}) END`;
    return { sql: value, isVariant: 'no' };
  }
  const cast = translateCast({ value, type: type.name, args: type.args, safe, dialect });
  return { sql: cast ?? `${word}(${value} AS ${type.sql})`, isVariant: 'no' };
}
