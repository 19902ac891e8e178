/** Files of objects in DuckDB. */
import type { CsvFormat, Dialect, PlainFormat, RejectTables } from './dialect/dialect.ts';

interface Quoting {
  name(identifier: string): string;
  quoteText(text: string): string;
  /** Wildcards are literal. */
  quotePath(path: string): string;
}

type ObjectReading = Pick<
  Dialect,
  'readDelimited' | 'listRejects' | 'dropRejects' | 'readObjects' | 'listObjectMembers' | 'objectValue'
>;

/** No file has it: DuckDB needs a word that means NULL. */
const noWord = '\u{10FFFD}';
/** Bytes of one JSON object. */
const objectLimit = 128 * 1_048_576;

/** DuckDB takes memory for two objects of this size at once. */
export const boundObjects = (lineBytes: number): number => Math.max(1_048_576, lineBytes + 1);

export function createObjectReading({ name, quoteText, quotePath }: Quoting): ObjectReading {
  function readDelimited(
    path: string,
    format: CsvFormat,
    columns: readonly string[],
    rejects?: RejectTables,
  ): string {
    const { quote, escapeCharacter, countsCells } = format;
    const types = columns.map((column) => `${quoteText(column)}: 'VARCHAR'`).join(', ');
    const doubles = escapeCharacter === '' || escapeCharacter === quote;
    const options = [
      quotePath(path),
      'auto_detect = false, header = false',
      `columns = {${types}}`,
      `delim = ${quoteText(format.delimiter)}`,
      `quote = ${quoteText(quote)}`,
      `escape = ${quoteText(doubles ? quote : escapeCharacter)}`,
      `nullstr = ${quoteText(format.emptyIsNull ? '' : noWord)}`,
      'allow_quoted_nulls = false',
      `skip = ${format.skippedLines}`,
      // Only then are characters escaped in values that are not enclosed, and further values left out.
      ...(doubles && countsCells ? [] : ['strict_mode = false']),
      ...(countsCells ? [] : ['null_padding = true', 'parallel = false']),
      ...(rejects === undefined
        ? []
        : [
            'store_rejects = true, rejects_limit = 0',
            `rejects_table = ${quoteText(rejects.rows)}, rejects_scan = ${quoteText(rejects.scans)}`,
          ]),
    ];
    return `read_csv(${options.join(', ')})`;
  }

  const readJson = (
    path: string,
    form: 'unstructured' | 'auto' | 'newline_delimited',
    lineBytes = objectLimit,
  ) =>
    `read_json_objects(${quotePath(path)}, format = '${form}', maximum_object_size = ${boundObjects(lineBytes)})`;

  function readObjects(path: string, format: PlainFormat): string {
    if (format.type === 'PARQUET') return `read_parquet(${quotePath(path)}) AS r`;
    const { stripsOuterArray, stripsNulls, isByLine, lineBytes } = format;
    const json = stripsNulls ? "json_merge_patch('{}', json)" : 'json';
    const form = isByLine === true ? 'newline_delimited' : stripsOuterArray ? 'auto' : 'unstructured';
    return `(SELECT ${json} AS r FROM ${readJson(path, form, lineBytes)})`;
  }

  return {
    readDelimited,
    listRejects: ({ rows }, limit) =>
      `SELECT line, error_type, error_message FROM temp.main.${name(rows)} ORDER BY line, byte_position LIMIT ${limit}`,
    dropRejects: ({ rows, scans }) =>
      [rows, scans].map((table) => `DROP TABLE IF EXISTS temp.main.${name(table)}`),
    readObjects,
    listObjectMembers(path, format) {
      if (format.type === 'PARQUET')
        return `SELECT column_name FROM (DESCRIBE SELECT * FROM read_parquet(${quotePath(path)}))`;
      const keys = "unnest(CASE WHEN json_type(r) = 'OBJECT' THEN json_keys(r) ELSE [] END)";
      return `SELECT DISTINCT ${keys} AS member FROM ${readObjects(path, format)}`;
    },
    objectValue(format, members) {
      if (format.type === 'PARQUET') {
        if (members === undefined) return { text: 'CAST(to_json(r) AS VARCHAR)', json: 'to_json(r)' };
        const values = members.map((member) => `r.${name(member)}`);
        const first = values.length === 0 ? 'NULL' : (values[0] ?? 'NULL');
        return { text: first, json: `to_json(${first})` };
      }
      if (members === undefined) return { text: 'CAST(r AS VARCHAR)', json: 'r' };
      // A pointer of RFC 6901: no name needs quotes in it.
      const values = members.map(
        (member) => `json_extract(r, ${quoteText(`/${member.replaceAll('~', '~0').replaceAll('/', '~1')}`)})`,
      );
      const json = values.length === 0 ? 'NULL' : `coalesce(${values.join(', ')})`;
      return { text: `json_extract_string(${json}, '$')`, json };
    },
  };
}
