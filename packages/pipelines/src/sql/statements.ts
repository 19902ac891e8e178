/**
 * Splits a script into statements. A `;` in a text, a quoted name, a dollar quote or a comment is ignored.
 */

/**
 * The end of the quoted text, quoted name, dollar quote or comment that starts at a position, if one does.
 */
function findStretchEnd(sql: string, from: number): number | undefined {
  const character = sql[from];
  if (character === "'")
    return findQuoteEnd(sql, from, "'", /[eE]/.test(sql[from - 1] ?? '') && !/\w/.test(sql[from - 2] ?? ' '));
  if (character === '"') return findQuoteEnd(sql, from, '"', false);
  if (sql.startsWith('--', from)) return findIndexOrEnd(sql, '\n', from);
  if (sql.startsWith('/*', from)) return findBlockCommentEnd(sql, from);
  if (character === '$' && !/\w/.test(sql[from - 1] ?? ' ')) {
    const tag = /^\$(?:[A-Za-z_]\w*)?\$/.exec(sql.slice(from, from + 66))?.[0];
    if (tag !== undefined) return findIndexOrEnd(sql, tag, from + tag.length) + tag.length;
  }
  return undefined;
}

function findIndexOrEnd(sql: string, wanted: string, from: number): number {
  const found = sql.indexOf(wanted, from);
  return found < 0 ? sql.length : found;
}

/** A doubled quote is read as two adjacent texts, which gives the same end. */
function findQuoteEnd(sql: string, from: number, quote: string, escapes: boolean): number {
  for (let index = from + 1; index < sql.length; index += 1) {
    if (escapes && sql[index] === '\\') index += 1;
    else if (sql[index] === quote) return index + 1;
  }
  return sql.length;
}

function findBlockCommentEnd(sql: string, from: number): number {
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

/** The statements of a script in order, without `;`. Parts with only blanks and comments are dropped. */
export function splitStatements(sql: string): string[] {
  return findStatements(sql).map(({ from, to }) => sql.slice(from, to));
}

/** Where the statements begin and end, without blanks around them. */
export function findStatements(sql: string): { from: number; to: number }[] {
  const statements: { from: number; to: number }[] = [];
  let from = 0;
  let hasContent = false;
  let index = 0;
  const take = (to: number) => {
    if (hasContent) {
      const part = sql.slice(from, to);
      const begin = from + part.length - part.trimStart().length;
      statements.push({ from: begin, to: begin + part.trim().length });
    }
    from = to + 1;
    hasContent = false;
  };
  while (index < sql.length) {
    const end = findStretchEnd(sql, index);
    if (end !== undefined) {
      hasContent ||= !(sql.startsWith('--', index) || sql.startsWith('/*', index));
      index = end;
      continue;
    }
    if (sql[index] === ';') take(index);
    else hasContent ||= /\S/.test(sql[index] as string);
    index += 1;
  }
  take(sql.length);
  return statements;
}
