/** Writes the rows of a sheet of an XLSX file as lines of JSON. Rows without any value are left out. */
import { statSync } from 'node:fs';
import type { CellRange, Converted, ConvertedColumn, FileConversion } from '@headgate/pipelines';
import { FileFault } from '../file-fault.ts';
import { JsonLines } from '../json-lines.ts';
import { writeSerial } from './cell-formats.ts';
import { createTextReader, openWorkbook, type Sheet, unescapeText, type Workbook } from './workbook.ts';
import type { XmlEvents } from './xml-scanner.ts';

/** Of Excel. */
const [rowLimit, columnLimit] = [1_048_576, 16_384];
const cellLength = 32_767 * 4;

type XlsxConversion = Extract<FileConversion, { from: 'xlsx' }>;

/** @throws FileFault about the file */
export async function convertXlsx(
  path: string,
  target: string,
  conversion: XlsxConversion,
  fileBytes: number,
): Promise<Converted> {
  const workbook = await openWorkbook(path);
  try {
    const sheet = findSheet(workbook, conversion.sheet);
    if (sheet === undefined) {
      if (conversion.isOptional === true)
        return { rows: 0, lineBytes: 0, columns: [], notes: [], isMissing: true };
      throw describeSheets(workbook, conversion.sheet ?? '');
    }
    const strings = await workbook.readStrings();
    const lines = new JsonLines(target, { fileBytes, inputBytes: statSync(path).size });
    const table = new SheetTable(lines, conversion.hasHeader);
    const reader = new SheetReader(workbook, strings, conversion.range, table);
    await workbook.scan(sheet.path, reader, fileBytes, () => reader.isOver);
    lines.finish();
    const { rows, lineBytes } = lines;
    return { rows, lineBytes, columns: table.listColumns(), notes: reader.describeErrors() };
  } finally {
    workbook.close();
  }
}

function findSheet({ sheets }: Workbook, name: string | undefined): Sheet | undefined {
  const [first] = sheets;
  if (first === undefined) throw new FileFault('it has no sheet');
  if (name === undefined) return first;
  return (
    sheets.find((sheet) => sheet.name === name) ??
    sheets.find((sheet) => sheet.name.toLowerCase() === name.toLowerCase())
  );
}

function describeSheets({ sheets }: Workbook, name: string): FileFault {
  const known = sheets.slice(0, 20).map((sheet) => JSON.stringify(sheet.name));
  return new FileFault(`it has no sheet ${JSON.stringify(name)}: it has ${known.join(', ')}`);
}

type CellKind = Exclude<ConvertedColumn['type'], object | 'json'>;

interface CellValue {
  kind: CellKind;
  /** As JSON. */
  json: string;
  text: string;
}

/** The columns and rows of a sheet. */
class SheetTable {
  readonly #lines: JsonLines;
  readonly #hasHeader: boolean;
  #isHeaderRead = false;
  readonly #columns = new Map<number, { name: string; prefix: string; kinds: Set<CellKind> }>();
  readonly #names = new Set<string>();

  constructor(lines: JsonLines, hasHeader: boolean) {
    this.#lines = lines;
    this.#hasHeader = hasHeader;
  }

  addRow(cells: readonly (readonly [column: number, value: CellValue])[]): void {
    if (cells.length === 0) return;
    if (this.#hasHeader && !this.#isHeaderRead) {
      this.#isHeaderRead = true;
      for (const [column, { text }] of cells) this.#addColumn(column, text.trim() || nameColumn(column));
      return;
    }
    let separator = '{';
    for (const [index, value] of cells) {
      const column = this.#columns.get(index) ?? this.#addColumn(index, nameColumn(index));
      column.kinds.add(value.kind);
      this.#lines.add(`${separator}${column.prefix}${value.json}`);
      separator = ',';
    }
    this.#lines.add('}');
    this.#lines.end();
  }

  /** The warehouse does not tell names apart by case. */
  #addColumn(index: number, header: string) {
    let name = header;
    for (let count = 2; this.#names.has(name.toLowerCase()); count += 1) name = `${header}_${count}`;
    this.#names.add(name.toLowerCase());
    const column = { name, prefix: `${JSON.stringify(name)}:`, kinds: new Set<CellKind>() };
    this.#columns.set(index, column);
    return column;
  }

  listColumns(): ConvertedColumn[] {
    return [...this.#columns]
      .toSorted(([one], [other]) => one - other)
      .map(([, { name, kinds }]) => ({ name, type: joinKinds(kinds) }));
  }
}

function joinKinds(kinds: ReadonlySet<CellKind>): CellKind {
  const [only = 'text'] = kinds;
  if (kinds.size <= 1) return only;
  const isOf = (...allowed: CellKind[]) => [...kinds].every((kind) => allowed.includes(kind));
  if (isOf('integer', 'number')) return 'number';
  return isOf('date', 'timestamp') ? 'timestamp' : 'text';
}

/** 1 is A, 27 is AA. */
function nameColumn(column: number): string {
  let name = '';
  for (let rest = column; rest > 0; rest = Math.floor((rest - 1) / 26))
    name = String.fromCharCode(65 + ((rest - 1) % 26)) + name;
  return name;
}

class SheetReader implements XmlEvents {
  readonly #workbook: Pick<Workbook, 'kinds' | 'is1904'>;
  readonly #strings: readonly string[];
  readonly #range: CellRange | undefined;
  readonly #table: SheetTable;
  readonly #inline = createTextReader();
  isOver = false;
  #row = 0;
  #column = 0;
  #cells: [number, CellValue][] = [];
  #cell = { type: 'n', style: -1, value: '', hasValue: false };
  #isValue = false;
  #errors = 0;
  #firstError = '';

  constructor(
    workbook: Pick<Workbook, 'kinds' | 'is1904'>,
    strings: readonly string[],
    range: CellRange | undefined,
    table: SheetTable,
  ) {
    this.#workbook = workbook;
    this.#strings = strings;
    this.#range = range;
    this.#table = table;
  }

  open(name: string, attributes: ReadonlyMap<string, string>): void {
    if (name === 'row') this.#beginRow(attributes.get('r'));
    else if (name === 'c') this.#beginCell(attributes);
    else if (name === 'v') this.#isValue = true;
    else this.#inline.open(name);
  }

  text(part: string): void {
    if (!this.#isValue) {
      this.#inline.text(part);
      return;
    }
    this.#cell.value += part;
    this.#cell.hasValue = true;
    if (this.#cell.value.length > cellLength)
      throw new FileFault(`the cell ${this.#name()} is longer than cells of Excel can be`);
  }

  close(name: string): void {
    this.#isValue = false;
    this.#inline.close(name);
    if (name === 'c') this.#endCell();
    else if (name === 'row') this.#endRow();
    else if (name === 'sheetData') this.isOver = true;
  }

  #beginRow(number: string | undefined): void {
    const row = number === undefined ? this.#row + 1 : Number(number);
    if (!Number.isInteger(row) || row <= this.#row || row > rowLimit)
      throw new FileFault(
        `it has the row ${String(number).slice(0, 20)} after row ${this.#row}: rows go from 1 to ${rowLimit}`,
      );
    this.#row = row;
    this.#column = 0;
    this.#cells = [];
    const last = this.#range?.lastRow;
    if (last !== undefined && row > last) this.isOver = true;
  }

  #beginCell(attributes: ReadonlyMap<string, string>): void {
    const address = attributes.get('r');
    const column = address === undefined ? this.#column + 1 : readColumn(address);
    if (column === undefined || column <= this.#column || column > columnLimit)
      throw new FileFault(
        `row ${this.#row} has the cell ${JSON.stringify(String(address).slice(0, 20))}, which is no address or stands behind a later one`,
      );
    this.#column = column;
    this.#inline.begin();
    const style = Number(attributes.get('s') ?? -1);
    this.#cell = { type: attributes.get('t') ?? 'n', style, value: '', hasValue: false };
  }

  #endCell(): void {
    if (!this.#isInRange()) return;
    const value = this.#readCell();
    if (value !== undefined) this.#cells.push([this.#column, value]);
  }

  #isInRange(): boolean {
    if (this.#range === undefined) return true;
    const { firstRow, lastRow = rowLimit, firstColumn, lastColumn = columnLimit } = this.#range;
    const [row, column] = [this.#row, this.#column];
    return row >= firstRow && row <= lastRow && column >= firstColumn && column <= lastColumn;
  }

  #endRow(): void {
    this.#table.addRow(this.#cells);
    this.#cells = [];
  }

  readonly #name = () => `${nameColumn(this.#column)}${this.#row}`;

  /** Undefined for one without a value. */
  #readCell(): CellValue | undefined {
    const { type, value, hasValue } = this.#cell;
    if (type === 'inlineStr') return writeText(this.#inline.end());
    if (!hasValue) return undefined;
    switch (type) {
      case 's': {
        const text = /^\d{1,9}$/.test(value) ? this.#strings[Number(value)] : undefined;
        if (text === undefined)
          throw new FileFault(
            `the cell ${this.#name()} names the text ${value.slice(0, 20)}, which the file does not have`,
          );
        return writeText(text);
      }
      case 'str':
        return writeText(unescapeText(value));
      case 'b':
        return {
          kind: 'boolean',
          json: value === '1' ? 'true' : 'false',
          text: value === '1' ? 'TRUE' : 'FALSE',
        };
      case 'd':
        return this.#readIsoDate(value);
      case 'e':
        this.#errors += 1;
        this.#firstError ||= `${this.#name()} (${value.slice(0, 20)})`;
        return undefined;
      case 'n':
        return this.#readNumber(value);
      default:
        throw new FileFault(
          `the cell ${this.#name()} has the type ${JSON.stringify(type.slice(0, 20))}, which is not known`,
        );
    }
  }

  #readNumber(value: string): CellValue {
    const number = value.trim() === '' ? Number.NaN : Number(value);
    if (!Number.isFinite(number))
      throw new FileFault(
        `the cell ${this.#name()} has ${JSON.stringify(value.slice(0, 40))}, which is no number`,
      );
    const format = this.#workbook.kinds[this.#cell.style] ?? 'number';
    const moment = writeSerial(number, format, this.#workbook.is1904);
    if (moment !== undefined)
      return { kind: moment.kind, json: JSON.stringify(moment.text), text: moment.text };
    const text = String(Object.is(number, -0) ? 0 : number);
    return { kind: Number.isSafeInteger(number) ? 'integer' : 'number', json: text, text };
  }

  #readIsoDate(value: string): CellValue {
    const text = value.trim().replace('T', ' ').replace(/Z$/, '');
    const isDate = /^\d{4}-\d{2}-\d{2}$/.test(text);
    const isMoment = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}(?::\d{2}(?:[.]\d{1,9})?)?$/.test(text);
    if (!isDate && !isMoment) return writeText(value);
    return { kind: isDate ? 'date' : 'timestamp', json: JSON.stringify(text), text };
  }

  describeErrors(): string[] {
    if (this.#errors === 0) return [];
    const one = this.#errors === 1;
    return [
      `${this.#errors} ${one ? 'cell is the error' : 'cells are errors'} of a formula, and NULL: ${one ? '' : 'the first is '}${this.#firstError}`,
    ];
  }
}

const writeText = (text: string): CellValue => ({ kind: 'text', json: JSON.stringify(text), text });

/** The number of the column of an address such as `AB12`. */
function readColumn(address: string): number | undefined {
  const [, letters = ''] = /^([A-Z]{1,3})\d{1,7}$/.exec(address) ?? [];
  if (letters === '') return undefined;
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0);
}
