/**
 * Translates the calls in one expression, innermost first, as the rewriter does. It knows calls, WITHIN GROUP,
 * OVER, DISTINCT and `::`, which is enough for the tests of functions.
 */
import {
  type SourceDialect,
  translateCast,
  translateFunction,
} from '../../../../pipelines/src/sql/functions/index.ts';

/** DuckDB SQL of the expression. @throws SqlError of the translation */
export function translateExpression(sql: string, dialect: SourceDialect = 'snowflake'): string {
  let result = '';
  let at = 0;
  while (at < sql.length) {
    const text = /^'(?:[^']|'')*'/.exec(sql.slice(at))?.[0];
    const word = /^[A-Za-z_][\w$]*/.exec(sql.slice(at))?.[0];
    if (text !== undefined) {
      result += text;
      at += text.length;
    } else if (word === undefined) {
      result += sql[at];
      at += 1;
    } else if (sql[at + word.length] === '(' && !/^(?:cast|over|values|in|struct)$/i.test(word)) {
      const read = readCall(sql, at, word, dialect);
      result += read.sql;
      at = read.end;
    } else {
      result += word;
      at += word.length;
    }
  }
  return result;
}

/** The cast of a translated value. */
export function translateCastOf(
  value: string,
  type: string,
  dialect: SourceDialect = 'snowflake',
  safe = false,
) {
  const [, name = '', args = ''] = /^([^(]+)(?:\((.*)\))?$/.exec(type) ?? [];
  const sizes = args === '' ? [] : args.split(',').map((each) => each.trim());
  const cast = { value: translateExpression(value, dialect), type: name, args: sizes, safe, dialect };
  return translateCast(cast) ?? `CAST(${value} AS ${type})`;
}

function readCall(sql: string, start: number, word: string, dialect: SourceDialect) {
  let end = closeOf(sql, start + word.length);
  let inside = sql.slice(start + word.length + 1, end - 1).trim();
  const clause = (pattern: RegExp) => {
    const found = pattern.exec(sql.slice(end))?.[0];
    if (found === undefined) return undefined;
    const open = end + found.length;
    end = found.endsWith('(') ? closeOf(sql, open - 1) : open;
    return translateExpression(sql.slice(open, end - 1), dialect);
  };
  const orderBy = clause(/^\s*WITHIN GROUP\s*\(/i)?.replace(/^\s*order by\s+/i, '');
  const ignoreNulls = clause(/^\s*IGNORE NULLS/i) !== undefined;
  const over = clause(/^\s*OVER\s*\(/i);
  const distinct = /^distinct\s/i.test(inside);
  if (distinct) inside = inside.slice(9);
  const source = splitArguments(inside);
  const args = source.map((each) => translateExpression(each, dialect));
  const name = word.toUpperCase();
  const call = { name, args, source, distinct, orderBy, over, ignoreNulls, dialect };
  const translated = translateFunction(call);
  const plain = `${word}(${distinct ? 'DISTINCT ' : ''}${args.join(', ')})`;
  const appended = translated === undefined || translated.append === true;
  const window = appended && over !== undefined ? ` OVER (${over})` : '';
  return { sql: `${translated?.sql ?? plain}${window}`, end };
}

function closeOf(sql: string, open: number): number {
  let depth = 0;
  for (let at = open; at < sql.length; at += 1) {
    const text = /^'(?:[^']|'')*'/.exec(sql.slice(at))?.[0];
    if (text !== undefined) at += text.length - 1;
    else if (sql[at] === '(') depth += 1;
    else if (sql[at] === ')' && --depth === 0) return at + 1;
  }
  throw new Error(`a parenthesis is not closed: ${sql}`);
}

function splitArguments(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const literal = /^'(?:[^']|'')*'/.exec(text.slice(at))?.[0];
    if (literal !== undefined) at += literal.length - 1;
    else if ('([{'.includes(text[at] ?? '')) depth += 1;
    else if (')]}'.includes(text[at] ?? '')) depth -= 1;
    else if (text[at] === ',' && depth === 0) {
      parts.push(text.slice(from, at).trim());
      from = at + 1;
    }
  }
  const last = text.slice(from).trim();
  return last === '' && parts.length === 0 ? [] : [...parts, last];
}
