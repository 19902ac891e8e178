/**
 * Names of tables as requests write them: `shop.orders`, or `orders` in the default schema. A part that holds a dot or
 * a quotation mark is written in quotation marks, which are doubled inside: `shop."net.sales"`.
 */
export interface TableName {
  /** Absent: the default schema of the environment. */
  schema?: string;
  name: string;
}

/** Of one part. */
export const identifierLimit = 1_000;

/** Undefined if it is not such a name. */
export function parseTableName(written: string): TableName | undefined {
  if (written.includes('\0')) return undefined;
  const parts: string[] = [];
  for (let at = 0; at <= written.length; at += 1) {
    const part = written[at] === '"' ? readQuoted(written, at) : readBare(written, at);
    if (part === undefined || part.value === '' || part.value.length > identifierLimit) return undefined;
    if (part.end < written.length && written[part.end] !== '.') return undefined;
    parts.push(part.value);
    at = part.end;
  }
  const [first, second] = parts;
  if (first === undefined || parts.length > 2) return undefined;
  return second === undefined ? { name: first } : { schema: first, name: second };
}

interface Part {
  value: string;
  /** After its last character. */
  end: number;
}

function readBare(written: string, start: number): Part | undefined {
  const dot = written.indexOf('.', start);
  const end = dot < 0 ? written.length : dot;
  const value = written.slice(start, end);
  return value.includes('"') ? undefined : { value, end };
}

function readQuoted(written: string, start: number): Part | undefined {
  for (let from = start + 1; ; from += 2) {
    from = written.indexOf('"', from);
    if (from < 0) return undefined;
    if (written[from + 1] !== '"')
      return { value: written.slice(start + 1, from).replaceAll('""', '"'), end: from + 1 };
  }
}

export function renderTableName({ schema, name }: TableName): string {
  const parts = schema === undefined ? [name] : [schema, name];
  return parts.map((part) => (/[."]/.test(part) ? `"${part.replaceAll('"', '""')}"` : part)).join('.');
}
