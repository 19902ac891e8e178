/** A script of several statements to single ones. A `;` inside a text, a quoted name, a dollar quote or a comment ends nothing. */

/** What a stretch beginning at a position is, and where it ends; undefined when nothing special begins there. */
function stretchEnd(sql: string, from: number): number | undefined {
  const character = sql[from];
  if (character === "'")
    return quoteEnd(sql, from, "'", /[eE]/.test(sql[from - 1] ?? '') && !/\w/.test(sql[from - 2] ?? ' '));
  if (character === '"') return quoteEnd(sql, from, '"', false);
  if (sql.startsWith('--', from)) return indexOrEnd(sql, '\n', from);
  if (sql.startsWith('/*', from)) return blockCommentEnd(sql, from);
  if (character === '$' && !/\w/.test(sql[from - 1] ?? ' ')) {
    const tag = /^\$(?:[A-Za-z_]\w*)?\$/.exec(sql.slice(from, from + 66))?.[0];
    if (tag !== undefined) return indexOrEnd(sql, tag, from + tag.length) + tag.length;
  }
  return undefined;
}

function indexOrEnd(sql: string, wanted: string, from: number): number {
  const found = sql.indexOf(wanted, from);
  return found < 0 ? sql.length : found;
}

/** A doubled quote reads as two stretches side by side, which changes nothing here. */
function quoteEnd(sql: string, from: number, quote: string, escapes: boolean): number {
  for (let index = from + 1; index < sql.length; index += 1) {
    if (escapes && sql[index] === '\\') index += 1;
    else if (sql[index] === quote) return index + 1;
  }
  return sql.length;
}

function blockCommentEnd(sql: string, from: number): number {
  let depth = 0;
  for (let index = from; index < sql.length; index += 1) {
    if (sql.startsWith('/*', index)) {
      depth += 1;
      index += 1;
    } else if (sql.startsWith('*/', index)) {
      depth -= 1;
      index += 1;
      if (depth === 0) return index + 1;
    }
  }
  return sql.length;
}

/** The statements of a script, in order, without their `;`; what is only blank or comment is none. */
export function splitStatements(sql: string): string[] {
  const statements: string[] = [];
  let from = 0;
  let says = false;
  let index = 0;
  const take = (to: number) => {
    if (says) statements.push(sql.slice(from, to).trim());
    from = to + 1;
    says = false;
  };
  while (index < sql.length) {
    const end = stretchEnd(sql, index);
    if (end !== undefined) {
      says ||= !(sql.startsWith('--', index) || sql.startsWith('/*', index));
      index = end;
      continue;
    }
    if (sql[index] === ';') take(index);
    else says ||= /\S/.test(sql[index] as string);
    index += 1;
  }
  take(sql.length);
  return statements;
}
