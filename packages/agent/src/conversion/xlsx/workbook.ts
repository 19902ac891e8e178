/** Opens a workbook: its sheets, and what its cells refer to. ECMA-376, part 1. */
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { FileFault } from '../file-fault.ts';
import { judgeFormat, type NumberKind } from './cell-formats.ts';
import { type XmlEvents, XmlScanner } from './xml-scanner.ts';

const entryLimit = 10_000;
/** Bytes of a part that is kept in memory, unpacked. */
const partLimit = 128 * 1_048_576;
const stringLimit = 5_000_000;
const sheetLimit = 1_000;

export interface Sheet {
  name: string;
  /** Its file in the archive. */
  path: string;
}

export interface Workbook {
  sheets: readonly Sheet[];
  is1904: boolean;
  /** What numbers are, by the style of their cell. */
  kinds: readonly NumberKind[];
  readStrings(): Promise<string[]>;
  /** @param isOver is asked after each part of the file */
  scan(path: string, events: XmlEvents, limit: number, isOver?: () => boolean): Promise<void>;
  close(): void;
}

/** @throws FileFault */
export async function openWorkbook(path: string): Promise<Workbook> {
  const zip = await openPromise(path, { autoClose: false }).catch((error: Error) => {
    throw new FileFault(
      `it is no XLSX file that can be read (${error.message}): save it as .xlsx, without a password`,
    );
  });
  try {
    const entries = await readEntries(zip);
    const scan: Workbook['scan'] = (part, events, limit, isOver) =>
      scanPart(zip, entries, part, events, limit, isOver);
    const main = (await readRelations(scan, '', entries)).byType.get('officeDocument') ?? 'xl/workbook.xml';
    if (!entries.has(main)) throw new FileFault('it is a zip archive, but no workbook: save it as .xlsx');
    const relations = await readRelations(scan, main, entries);
    const { sheets, is1904 } = await readSheets(scan, main, relations.byId);
    const find = (type: string) => relations.byType.get(type) ?? '';
    return {
      ...{ sheets, is1904, scan },
      kinds: entries.has(find('styles')) ? await readStyles(scan, find('styles')) : [],
      readStrings: async () =>
        entries.has(find('sharedStrings')) ? readStrings(scan, find('sharedStrings')) : [],
      close: () => zip.close(),
    };
  } catch (error) {
    zip.close();
    throw error;
  }
}

async function readEntries(zip: ZipFile): Promise<Map<string, Entry>> {
  if (zip.entryCount > entryLimit)
    throw new FileFault(`it has ${zip.entryCount} files; the limit of a workbook is ${entryLimit}`);
  const entries = new Map<string, Entry>();
  try {
    for await (const entry of zip.eachEntry()) entries.set(entry.fileName, entry);
  } catch (error) {
    throw new FileFault(`its archive is damaged: ${(error as Error).message}`);
  }
  return entries;
}

/** What the archive says of its sizes is not believed: bytes are counted as they come. */
async function scanPart(
  zip: ZipFile,
  entries: ReadonlyMap<string, Entry>,
  path: string,
  events: XmlEvents,
  limit: number,
  isOver = () => false,
): Promise<void> {
  const entry = entries.get(path);
  if (entry === undefined) throw new FileFault(`its part "${path.slice(0, 200)}" is missing`);
  if (entry.isEncrypted()) throw new FileFault('it is encrypted: save it without a password');
  const scanner = new XmlScanner(events);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let bytes = 0;
  try {
    for await (const chunk of (await zip.openReadStreamPromise(entry)) as AsyncIterable<Buffer>) {
      bytes += chunk.byteLength;
      if (bytes > limit)
        throw new FileFault(
          `its part "${path}" has more than ${Math.round(limit / 1_048_576)} MiB when it is unpacked: divide the file`,
        );
      scanner.feed(decoder.decode(chunk, { stream: true }));
      if (isOver()) return;
    }
    scanner.feed(decoder.decode());
    scanner.end();
  } catch (error) {
    if (error instanceof FileFault) throw error;
    throw new FileFault(`its part "${path}" cannot be read: ${(error as Error).message}`);
  }
}

const ignore = () => undefined;

/** The parts that a part refers to: by their id, and by the end of their type. */
async function readRelations(scan: Workbook['scan'], of: string, entries: ReadonlyMap<string, Entry>) {
  const slash = of.lastIndexOf('/') + 1;
  const folder = of.slice(0, slash);
  const [byId, byType] = [new Map<string, string>(), new Map<string, string>()];
  const path = `${folder}_rels/${of.slice(slash)}.rels`;
  if (!entries.has(path)) return { byId, byType };
  const open = (name: string, attributes: ReadonlyMap<string, string>) => {
    const target = attributes.get('Target');
    if (name !== 'Relationship' || target === undefined || attributes.get('TargetMode') === 'External')
      return;
    const place = resolvePath(folder, target);
    byId.set(attributes.get('Id') ?? '', place);
    const type = attributes.get('Type') ?? '';
    byType.set(type.slice(type.lastIndexOf('/') + 1), place);
  };
  await scan(path, { open, close: ignore, text: ignore }, partLimit);
  return { byId, byType };
}

function resolvePath(folder: string, target: string): string {
  if (target.startsWith('/')) return target.slice(1);
  const steps = folder.split('/').slice(0, -1);
  for (const step of target.split('/')) {
    if (step === '..') steps.pop();
    else if (step !== '.') steps.push(step);
  }
  return steps.join('/');
}

async function readSheets(scan: Workbook['scan'], main: string, byId: ReadonlyMap<string, string>) {
  const sheets: Sheet[] = [];
  let is1904 = false;
  const open = (name: string, attributes: ReadonlyMap<string, string>) => {
    if (name === 'workbookPr') is1904 = /^(?:1|true|on)$/i.test(attributes.get('date1904') ?? '');
    if (name !== 'sheet') return;
    if (sheets.length === sheetLimit) throw new FileFault(`it has more than ${sheetLimit} sheets`);
    sheets.push({ name: attributes.get('name') ?? '', path: byId.get(attributes.get('id') ?? '') ?? '' });
  };
  await scan(main, { open, close: ignore, text: ignore }, partLimit);
  return { sheets, is1904 };
}

async function readStyles(scan: Workbook['scan'], path: string): Promise<NumberKind[]> {
  const codes = new Map<number, string>();
  const ids: number[] = [];
  let isInCells = false;
  const open = (name: string, attributes: ReadonlyMap<string, string>) => {
    if (name === 'numFmt')
      codes.set(Number(attributes.get('numFmtId')), (attributes.get('formatCode') ?? '').slice(0, 1_000));
    else if (name === 'cellXfs') isInCells = true;
    else if (name === 'xf' && isInCells) ids.push(Number(attributes.get('numFmtId') ?? 0));
  };
  const close = (name: string) => {
    if (name === 'cellXfs') isInCells = false;
  };
  await scan(path, { open, close, text: ignore }, partLimit);
  return ids.map((id) => judgeFormat(id, codes.get(id)));
}

async function readStrings(scan: Workbook['scan'], path: string): Promise<string[]> {
  const strings: string[] = [];
  const reader = createTextReader();
  const events: XmlEvents = {
    open(name) {
      if (name === 'si') reader.begin();
      else reader.open(name);
    },
    close(name) {
      reader.close(name);
      if (name !== 'si') return;
      if (strings.length === stringLimit) throw new FileFault(`it has more than ${stringLimit} texts`);
      strings.push(reader.end());
    },
    text: reader.text,
  };
  await scan(path, events, partLimit);
  return strings;
}

/** The text of a string, which may be in parts with formats. How Japanese is pronounced does not belong to it. */
export function createTextReader() {
  let text = '';
  let isText = false;
  let isSpoken = false;
  return {
    begin(): void {
      text = '';
    },
    open(name: string): void {
      if (name === 'rPh') isSpoken = true;
      isText = name === 't' && !isSpoken;
    },
    close(name: string): void {
      if (name === 'rPh') isSpoken = false;
      isText = false;
    },
    text(part: string): void {
      if (isText) text += part;
    },
    end: (): string => unescapeText(text),
  };
}

/** `_x000D_` is a character by its code (ECMA-376, part 1, section 22.9.2.19). */
export function unescapeText(text: string): string {
  if (!text.includes('_x')) return text;
  return text.replaceAll(/_x([0-9a-f]{4})_/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}
