/**
 * Changes of a table by rows put aside. MERGE of Redshift has no conditions besides ON, and needs both an UPDATE or
 * DELETE and an INSERT; so the same is done by parts, in one transaction.
 */
import type { Dialect, RowMerge } from '../dialect/dialect.ts';
import { type LexicalRules, tokenize } from '../tokens/tokens.ts';

type Names = Pick<Dialect, 'name' | 'table'>;

export function renderParts(merge: RowMerge, { name, table }: Names, rules: LexicalRules): readonly string[] {
  const { table: reference, source, aside, updates, inserts } = merge;
  const target = table(reference);
  // DELETE gives its table no other name.
  const own = (sql: string) => replaceQualifier(sql, merge.target, name(reference.table), rules);
  const condition = own(merge.condition);
  const cases = merge.rules.map((rule) => `WHEN ${own(rule.condition ?? 'TRUE')} THEN '${rule.action}'`);
  const isChosen = (action: string) =>
    `(${condition}) AND CASE ${cases.join(' ')} ELSE 'none' END = '${action}'`;
  const has = (action: string) => merge.rules.some((rule) => rule.action === action);
  const column = (each: string) => `${source}.${name(each)}`;
  const added = `${name('headgate_added_rows')}`;
  const isInserting = inserts.length > 0;
  const values = inserts.map(([from], index) => `${column(from)} AS ${name(`c${index + 1}`)}`).join(', ');
  return [
    ...(isInserting
      ? [
          // Before the table changes. Added rows are not updated.
          `CREATE TEMPORARY TABLE ${added} AS\nSELECT ${values}\nFROM ${aside} AS ${source}\nWHERE NOT EXISTS (SELECT 1 FROM ${target} WHERE ${condition})`,
        ]
      : []),
    // Before the updates, which could change what the conditions say.
    ...(has('delete')
      ? [`DELETE FROM ${target}\nUSING ${aside} AS ${source}\nWHERE ${isChosen('delete')}`]
      : []),
    ...(has('update')
      ? [
          `UPDATE ${target}\nSET ${updates.map(([from, to]) => `${name(to)} = ${column(from)}`).join(', ')}\nFROM ${aside} AS ${source}\nWHERE ${isChosen('update')}`,
        ]
      : []),
    ...(isInserting
      ? [
          `INSERT INTO ${target} (${inserts.map(([, to]) => name(to)).join(', ')})\nSELECT * FROM ${added}`,
          `DROP TABLE ${added}`,
        ]
      : []),
  ];
}

/** `alias.column` as `other.column`, where the alias stands before a dot. */
function replaceQualifier(sql: string, alias: string, other: string, rules: LexicalRules): string {
  const { tokens, source } = tokenize(sql, rules);
  const bare = alias.replaceAll('"', '').toLowerCase();
  let written = '';
  let from = 0;
  for (const [index, token] of tokens.entries()) {
    const isName = token.kind === 'word' || token.kind === 'quoted';
    const isPart = source.slice(tokens[index - 1]?.from ?? 0, tokens[index - 1]?.to ?? 0) === '.';
    const next = tokens[index + 1];
    const isQualifier = next !== undefined && source.slice(next.from, next.to) === '.';
    if (!isName || isPart || !isQualifier || token.value.toLowerCase() !== bare) continue;
    written += source.slice(from, token.from) + other;
    from = token.to;
  }
  return written + source.slice(from);
}

const fault = [
  'several rows of the source match the same row of the table, for ',
  ' of its rows: make the rows of the source distinct, or the conditions stricter',
] as const;

/** A query that fails if a row of the table would be changed by several rows: UPDATE would take any of them. */
export function renderCheck(
  { table, alias, source, condition, rules }: Parameters<Dialect['checkMerge']>[0],
  raise: (message: string) => string,
  literal: (text: string) => string,
): string {
  const cases = rules.map((rule) => `WHEN ${rule.condition ?? 'TRUE'} THEN '${rule.action}'`);
  const numbered = `SELECT *, row_number() OVER () AS "headgate_row" FROM ${table}`;
  const matches = `SELECT ${alias}."headgate_row", CASE ${cases.join(' ')} ELSE 'none' END AS "headgate_action"\nFROM (${numbered}) AS ${alias} JOIN ${source} ON ${condition}`;
  const counts = `SELECT "headgate_row", count(*) AS "matches", sum(CASE WHEN "headgate_action" = 'update' THEN 1 ELSE 0 END) AS "updates"\nFROM (${matches}) AS "matched"\nWHERE "headgate_action" <> 'none'\nGROUP BY "headgate_row"`;
  return `SELECT CASE WHEN count(*) > 0 THEN ${raise(`${literal(fault[0])} || count(*) || ${literal(fault[1])}`)} END FROM (${counts}) AS "counted"\nWHERE "matches" > 1 AND "updates" > 0`;
}
