/**
 * Puts the secrets of a statement into parameters. A server shows the text of running statements to other sessions, but
 * not the values of its parameters.
 */
import { type LexicalRules, tokenize } from '@headgate/pipelines';
import { readFirstWord } from '../../warehouses/statements/sql-words.ts';
import type { SecretSql } from '../ports/ports.ts';

/** Statements that may have parameters. */
const bindable = new Set(['select', 'with', 'insert', 'update', 'delete', 'merge', 'values', 'create']);
const parametersLimit = 1_000;

/** Undefined: the statement has no secret. Without values: its secrets cannot be parameters. */
export function bindSecrets(
  sql: string,
  rules: LexicalRules,
  mask: (text: string) => string,
): SecretSql | undefined {
  if (mask(sql) === sql) return undefined;
  if (!bindable.has(readFirstWord(sql))) return { sql, values: [] };
  const { tokens } = tokenize(sql, rules);
  // One literal that is used twice is one value, as GROUP BY requires; else each has a type of its own.
  const isGrouped = tokens.some(({ kind, value }) => kind === 'word' && value === 'GROUP');
  const values: string[] = [];
  let bound = '';
  let end = 0;
  for (const { kind, from, to } of tokens) {
    if (kind !== 'text') {
      // The statement has parameters of its own.
      if (/^\$\d/.test(sql.slice(from, to))) return { sql, values: [] };
      continue;
    }
    const literal = sql.slice(from, to);
    const value = readLiteral(literal);
    if (value === undefined || mask(value) === value || values.length === parametersLimit) continue;
    const known = isGrouped ? values.indexOf(value) : -1;
    if (known < 0) values.push(value);
    bound += `${sql.slice(end, from)}$${known < 0 ? values.length : known + 1}`;
    end = to;
  }
  return { sql: bound + sql.slice(end), values };
}

/** The value of `'…'` without backslashes. */
const readLiteral = (literal: string): string | undefined =>
  literal.startsWith("'") && !literal.includes('\\') ? literal.slice(1, -1).replaceAll("''", "'") : undefined;
