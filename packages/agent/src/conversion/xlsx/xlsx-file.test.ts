import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { createWorkbook, type WorkbookParts } from '../../../testing/workbook.ts';
import { zip } from '../../../testing/zip.ts';
import { convertXlsx } from './xlsx-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'headgate-xlsx-'));
after(() => rmSync(folder, { recursive: true }));
const [path, target] = [join(folder, 'in.xlsx'), join(folder, 'out.json')];

const whole = { from: 'xlsx', sheet: undefined, range: undefined, hasHeader: true } as const;

async function convert(
  bytes: Buffer,
  conversion: Partial<Parameters<typeof convertXlsx>[2]> = {},
  fileBytes = 1e9,
) {
  writeFileSync(path, bytes);
  const converted = await convertXlsx(path, target, { ...whole, ...conversion }, fileBytes);
  const lines = readFileSync(target, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return { ...converted, lines: lines.map((line) => JSON.parse(line)) };
}

const text = (value: string) => `<c t="inlineStr"><is><t>${value}</t></is></c>`;
const row = (...cells: string[]) => `<row>${cells.join('')}</row>`;
const number = (value: number | string, style?: number) =>
  `<c${style === undefined ? '' : ` s="${style}"`}><v>${value}</v></c>`;

describe('XLSX', () => {
  it('reads values of all types, and types their columns', async () => {
    const { lines, columns, rows, notes } = await convert(
      createWorkbook({
        formats: [0, 14, 21, 'yyyy\\-mm\\-dd hh:mm', '[h]:mm', '#,##0.00 "days"', '[$-409]d-mmm;@'],
        strings: [
          '<t>id</t>',
          '<r><t>wh</t></r><r><rPr><b/></rPr><t xml:space="preserve">en &amp; </t></r><r><t>why</t></r><rPh><t>spoken</t></rPh>',
          '<t>a_x000D_b</t>',
        ],
        sheets: {
          One: `<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="inlineStr"><is><t>ID</t></is></c></row>
            <row r="3"><c r="A3"><v>1</v></c><c r="B3" s="1"><v>46023</v></c><c r="D3" t="b"><v>1</v></c><c r="E3" s="3"><v>46023.5</v></c><c r="F3" s="2"><v>0.42444444444</v></c></row>
            <row r="4" spans="1:9"><c r="A4"><f>1/2</f><v>0.5</v></c><c r="B4" s="6"><v>60.5</v></c><c r="C4" t="s"><v>2</v></c><c r="E4" s="1"><v>1</v></c><c r="F4" s="4"><v>1.5</v></c><c r="G4" s="5"><v>3</v></c></row>
            <row r="5"><c r="A5" s="1"/><c r="B5" t="e"><v>#DIV/0!</v></c><c r="C5" t="str"><f>A1</f><v>formula</v></c></row>
            <row r="9"/><row r="10"><c r="C10" t="d"><v>2026-01-01</v></c></row>`,
        },
      }),
    );
    assert.deepEqual(lines, [
      { id: 1, 'when & why': '2026-01-01', D: true, E: '2026-01-01 12:00:00', F: '10:11:12' },
      { id: 0.5, 'when & why': '1900-02-28 12:00:00', ID_2: 'a\rb', E: '1900-01-01', F: '36:00:00', G: 3 },
      { ID_2: 'formula' },
      { ID_2: '2026-01-01' },
    ]);
    assert.deepEqual(columns, [
      { name: 'id', type: 'number' },
      { name: 'when & why', type: 'timestamp' },
      { name: 'ID_2', type: 'text' },
      { name: 'D', type: 'boolean' },
      { name: 'E', type: 'timestamp' },
      { name: 'F', type: 'text' },
      { name: 'G', type: 'integer' },
    ]);
    assert.equal(rows, 4);
    assert.deepEqual(notes, ['1 cell is the error of a formula, and NULL: B5 (#DIV/0!)']);
  });

  it('counts days from 1904 where the file says so', async () => {
    const sheets = { One: row(text('d')) + row(number(44_561, 0)) };
    assert.deepEqual((await convert(createWorkbook({ sheets, formats: [14], is1904: true }))).lines, [
      { d: '2026-01-01' },
    ]);
  });

  it('reads a range of a sheet, with and without a header', async () => {
    const cells = (at: number) =>
      ['A', 'B', 'C', 'D'].map((column) => `<c r="${column}${at}"><v>${at}</v></c>`);
    const rows = [1, 2, 3, 4, 5, 6].map((at) => `<row r="${at}">${cells(at).join('')}</row>`).join('');
    const bytes = createWorkbook({ sheets: { First: row(text('x')), 'Zweites Blatt': rows } });
    const range = { firstRow: 2, firstColumn: 2, lastRow: 4, lastColumn: 3 };
    const sheet = 'zweites blatt';
    assert.deepEqual((await convert(bytes, { sheet, range })).lines, [
      { 2: 3, '2_2': 3 },
      { 2: 4, '2_2': 4 },
    ]);
    assert.deepEqual((await convert(bytes, { sheet, range, hasHeader: false })).lines[0], { B: 2, C: 2 });
    const open = { firstRow: 5, firstColumn: 4, lastRow: undefined, lastColumn: undefined };
    assert.deepEqual((await convert(bytes, { sheet, range: open, hasHeader: false })).lines, [
      { D: 5 },
      { D: 6 },
    ]);
    await assert.rejects(
      convert(bytes, { sheet: 'Third' }),
      /no sheet "Third": it has "First", "Zweites Blatt"/,
    );
  });

  describe('refuses in words', () => {
    const sheet = (xml: string, more: Partial<WorkbookParts> = {}) =>
      createWorkbook({ sheets: { One: xml }, ...more });
    const laughs = Array.from(
      { length: 9 },
      (_, at) => `<!ENTITY l${at + 1} "${`&l${at};`.repeat(10)}">`,
    ).join('');
    const cases: readonly (readonly [what: string, bytes: Buffer, message: RegExp])[] = [
      ['no archive', Buffer.from('id,name\n'), /no XLSX file .* save it as \.xlsx, without a password/],
      ['another archive', zip({ 'a.txt': 'x' }), /a zip archive, but no workbook/],
      ['no sheet', createWorkbook({ sheets: {} }), /it has no sheet/],
      [
        'a missing part',
        createWorkbook({ sheets: { One: '' }, more: { 'xl/_rels/workbook.xml.rels': '<Relationships/>' } }),
        /its part "" is missing/,
      ],
      [
        'entities',
        sheet('', {
          more: {
            'xl/worksheets/sheet1.xml': `<!DOCTYPE w [<!ENTITY l0 "lol">${laughs}]><worksheet>&l9;</worksheet>`,
          },
        }),
        /declares a document type/,
      ],
      [
        'a billionth row',
        sheet('<row r="1000000000"><c><v>1</v></c></row>'),
        /the row 1000000000 after row 0: rows go from 1 to 1048576/,
      ],
      ['rows in disorder', sheet('<row r="2"/><row r="1"/>'), /the row 1 after row 2/],
      ['a far column', sheet('<row r="1"><c r="ZZZ1"><v>1</v></c></row>'), /"ZZZ1", which is no address/],
      [
        'cells in disorder',
        sheet('<row r="1"><c r="B1"/><c r="A1"/></row>'),
        /"A1", which is no address or stands behind/,
      ],
      ['no number', sheet(row(text('a')) + row(number('1,5'))), /A2 has "1,5", which is no number/],
      ['no such text', sheet('<row><c t="s"><v>7</v></c></row>'), /A1 names the text 7/],
      ['an unknown type', sheet('<row><c t="x"><v>7</v></c></row>'), /the type "x", which is not known/],
      ['a long cell', sheet(row(`<c t="str"><v>${'x'.repeat(200_000)}</v></c>`)), /A1 is longer than cells/],
      ['a long tag', sheet(`<row ${'a'.repeat(300_000)}`), /a tag of more than 256 KiB|cut off/],
      [
        'a cut part',
        sheet('', { more: { 'xl/worksheets/sheet1.xml': '<worksheet><sheetData><row' } }),
        /cut off/,
      ],
      [
        'a bomb of texts',
        sheet('', { strings: [`<t>${' '.repeat(140 * 1_048_576)}</t>`] }),
        /sharedStrings\.xml" has more than 128 MiB/,
      ],
      [
        'no UTF-8',
        sheet('', { more: { 'xl/worksheets/sheet1.xml': Buffer.from('<a>\xff</a>', 'latin1') } }),
        /cannot be read/,
      ],
    ];
    for (const [what, bytes, message] of cases) it(what, () => assert.rejects(convert(bytes), message));

    it('a sheet that grows', async () => {
      const bytes = sheet(row(text('a')) + row(number(1)).repeat(900_000));
      await assert.rejects(convert(bytes, {}, 1_048_576), /more than 1 MiB/);
    });
  });

  it('never throws anything but words, whatever byte of a file changes', async () => {
    const bytes = createWorkbook({ sheets: { One: row(text('a')) + row(number(1)) }, strings: ['<t>x</t>'] });
    for (let at = 0; at < bytes.length; at += 3) {
      const changed = Buffer.from(bytes);
      changed[at] = 0xff ^ (changed[at] ?? 0);
      await convert(changed).catch((error: Error) =>
        assert.equal(error.constructor.name, 'FileFault', `byte ${at}: ${error.stack}`),
      );
    }
  });
});
