/** What the agent must know of a statement in Snowflake's SQL. */
import { lexicalRules } from '@headgate/pipelines/sql-tokens';
import type { SecretSql } from '../../engine/ports/ports.ts';
import { readStatements, readWords } from '../statements/sql-words.ts';

/** Parameters stand as `:1` in Snowflake, where `$1` is a column. */
export function writeBinds({ sql, values }: SecretSql): { text: string; bindings: object } {
  let text = '';
  let end = 0;
  for (const { kind, value, from, to } of readStatements(sql, lexicalRules.snowflake).flat()) {
    if (kind !== 'symbol' || !/^\$\d{1,4}$/.test(value)) continue;
    text += `${sql.slice(end, from)}:${value.slice(1)}`;
    end = to;
  }
  const bindings = values.map((value, index) => [index + 1, { type: 'TEXT', value }] as const);
  return { text: text + sql.slice(end), bindings: Object.fromEntries(bindings) };
}

/** The name of the table of CREATE TABLE … AS, as it is written. */
export function findCreatedTable(sql: string): string | undefined {
  let [from, to]: (number | undefined)[] = [undefined, undefined];
  let isTable = false;
  let isFirst = true;
  for (const { kind, value, from: start, to: end } of readWords(sql)) {
    const isWord = kind === 'name';
    if (isFirst && !(isWord && value === 'create')) return undefined;
    isFirst = false;
    if (from === undefined) {
      if (isWord && value === 'table') isTable = true;
      else if (isTable && !(isWord && ['if', 'not', 'exists'].includes(value))) [from, to] = [start, end];
    } else if (isWord && value === 'as') return sql.slice(from, to);
    else if (isWord && ['clone', 'like', 'using'].includes(value)) return undefined;
    else if (start === to && (kind === 'quoted' || value === '.' || isWord)) to = end;
  }
  return undefined;
}

/** ALTER SESSION and UNSET, which other warehouses do not have. */
export function changesSession(sql: string): boolean {
  const words = readWords(sql);
  const [first, second] = [words.next().value, words.next().value];
  return first?.value === 'unset' || (first?.value === 'alter' && second?.value === 'session');
}
