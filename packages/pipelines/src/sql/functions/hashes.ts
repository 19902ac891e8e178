/** Checksums, encodings, likeness of texts, and parts of URLs. */
import {
  argumentAt,
  define,
  type FunctionCall,
  type FunctionEntry,
  type FunctionTable,
  refuse,
  refuseCall,
} from './call.ts';
import { asText, bindOnce, group } from './expressions.ts';
import { writeJson } from './json-values.ts';
import { readInteger, readText } from './literals.ts';

const ofText = (build: (text: string) => string, most = 1): FunctionEntry =>
  define(1, most, (call) => build(asText(argumentAt(call, 0))));

function hashSha2(call: FunctionCall): string {
  const bits = call.args[1] === undefined ? 256 : readInteger(call.args[1]);
  if (bits !== 256 && bits !== 0) {
    refuseCall(call.name, `checksums of ${call.source[1]} bits are not supported: write 256`);
  }
  return `sha256(${asText(argumentAt(call, 0))})`;
}

/** The first letter, and digits for the consonants after it. */
function renderSoundex(text: string): string {
  const letters = `regexp_replace(upper(${text}), '[^A-Z]', '', 'g')`;
  return bindOnce([letters], (word) => {
    const codes = (part: string) =>
      `translate(${part}, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', '0123012-02245501262301-202')`;
    const rest = `replace(${codes(`substr(${word}, 2)`)}, '-', '')`;
    let digits = `replace(${codes(`left(${word}, 1)`)}, '-', '0') || ${rest}`;
    // Equal codes side by side count once.
    for (const digit of '123456') digits = `regexp_replace(${digits}, '${digit}+', '${digit}', 'g')`;
    return `CASE WHEN ${word} = '' THEN '' ELSE left(${word}, 1) || left(replace(substr(${digits}, 2), '0', '') || '000', 3) END`;
  });
}

/** DuckDB compares bytes, and a character outside of ASCII has several. */
const ofAscii = (name: string, left: string, right: string, compare: string) =>
  `CASE WHEN strlen(${left}) = length(${left}) AND strlen(${right}) = length(${right}) THEN ${compare} WHEN ${left} IS NOT NULL AND ${right} IS NOT NULL THEN error('${name}: it compares letters of ASCII only; replace others first, as in TRANSLATE(x, ''äé'', ''ae'')') END`;

function compareByEdits({ name, args: [left = '', right = '', most] }: FunctionCall): string {
  return bindOnce([asText(left), asText(right)], (one = '', other = '') => {
    const distance = `levenshtein(${one}, ${other})`;
    return ofAscii(
      name,
      one,
      other,
      most === undefined ? distance : `greatest(least(${distance}, ${most}), 0)`,
    );
  });
}

/** Whether case counts is the first thing that people collate for. */
function collate(call: FunctionCall): string {
  const text = argumentAt(call, 0);
  const collation = readText(call.args[1])?.toLowerCase() ?? '';
  if (collation === '' || collation === 'utf8' || collation === 'bin') return text;
  if (/^(?:[a-z]{2,3}(?:[_-][a-z]{2})?-)?(?:ci|ci-as|as-ci)$/.test(collation))
    return `(${group(text)} COLLATE NOCASE)`;
  if (/^[a-z]{2,3}(?:[_-][a-z]{2})?(?:-cs|-as|-cs-as)?$/.test(collation)) return text;
  return refuseCall(call.name, `the collation "${collation}" is not supported: use 'en-ci' or none`);
}

function parseUrl(call: FunctionCall): string {
  return bindOnce([asText(argumentAt(call, 0))], (url) => {
    const part = (pattern: string, index = 1) => `nullif(regexp_extract(${url}, '${pattern}', ${index}), '')`;
    const query = part('^[^?#]*\\?([^#]*)');
    const pairs = `list_filter(string_split(${query}, '&'), lambda _p: _p <> '')`;
    const member = `${writeJson("split_part(_p, '=', 1)")} || ':' || ${writeJson("substr(_p, length(split_part(_p, '=', 1)) + 2)")}`;
    const parameters = `CAST('{' || array_to_string(list_transform(${pairs}, lambda _p: ${member}), ',') || '}' AS JSON)`;
    const members = [
      `'fragment', ${part('#(.*)$')}`,
      `'host', ${part('^[A-Za-z][A-Za-z0-9+.-]*://((?:[^/?#@]*@)?[^/?#:]*)')}`,
      `'parameters', ${parameters}`,
      `'path', CASE WHEN regexp_matches(${url}, '^[A-Za-z][A-Za-z0-9+.-]*:(?://[^/?#]*/|[^/])') THEN regexp_extract(${url}, '^[A-Za-z][A-Za-z0-9+.-]*:(?://[^/?#]*/)?([^?#]*)', 1) END`,
      `'port', ${part('^[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#@]*@)?[^/?#:]*:([0-9]+)')}`,
      `'query', ${query}`,
      `'scheme', ${part('^([A-Za-z][A-Za-z0-9+.-]*):')}`,
    ];
    const hasScheme = `regexp_matches(${url}, '^[A-Za-z][A-Za-z0-9+.-]*:')`;
    const failure =
      readInteger(call.args[1]) === 1
        ? `json_object('error', 'scheme not specified')`
        : `CAST(error('PARSE_URL: "' || ${url} || '" has no scheme: write one such as https://, or 1 as the second argument') AS JSON)`;
    return `CASE WHEN ${hasScheme} THEN json_object(${members.join(', ')}) WHEN ${url} IS NOT NULL THEN ${failure} END`;
  });
}

const decodeText = (decoder: string, safe: boolean) =>
  define(1, 2, (call) => {
    const decoded = `decode(${decoder}(${asText(argumentAt(call, 0))}))`;
    return safe ? `TRY(${decoded})` : decoded;
  });
const decodeBinary = (decoder: string, safe: boolean) =>
  define(1, 2, (call) => {
    const decoded = `${decoder}(${asText(argumentAt(call, 0))})`;
    return safe ? `TRY(${decoded})` : decoded;
  });
const md5 = ofText((text) => `md5(${text})`);
const sha1 = ofText((text) => `sha1(${text})`);
const sha2 = define(1, 2, hashSha2);
const jaroWinkler = define(2, 2, ({ name, args: [left = '', right = ''] }) =>
  bindOnce([asText(left), asText(right)], (one = '', other = '') => {
    const similarity = `jaro_winkler_similarity(lower(${one}), lower(${other}))`;
    return ofAscii(name, one, other, `CAST(floor(100 * ${similarity}) AS INTEGER)`);
  }),
);

const xml = refuse('XML is not supported: convert it to JSON before it is loaded');

export const hashes: FunctionTable = {
  MD5: md5,
  MD5_HEX: md5,
  MD5_BINARY: ofText((text) => `unhex(md5(${text}))`),
  SHA: sha1,
  SHA1: sha1,
  SHA1_HEX: sha1,
  FUNC_SHA1: sha1,
  SHA2: sha2,
  SHA2_HEX: sha2,
  BASE64_ENCODE: ofText((text) => `to_base64(encode(${text}))`, 3),
  BASE64_DECODE_STRING: decodeText('from_base64', false),
  TRY_BASE64_DECODE_STRING: decodeText('from_base64', true),
  BASE64_DECODE_BINARY: decodeBinary('from_base64', false),
  TRY_BASE64_DECODE_BINARY: decodeBinary('from_base64', true),
  HEX_ENCODE: define(1, 2, ({ args: [text = '', upper] }) => {
    const hex = `hex(${asText(text)})`;
    return readInteger(upper) === 0 ? `lower(${hex})` : hex;
  }),
  HEX_DECODE_STRING: decodeText('unhex', false),
  TRY_HEX_DECODE_STRING: decodeText('unhex', true),
  HEX_DECODE_BINARY: decodeBinary('unhex', false),
  TRY_HEX_DECODE_BINARY: decodeBinary('unhex', true),
  UUID_STRING: define(0, 2, (call) =>
    call.args.length > 0
      ? refuseCall(
          call.name,
          'identifiers made of a namespace and a name are not supported: use MD5 of the name',
        )
      : 'CAST(uuid() AS VARCHAR)',
  ),
  EDITDISTANCE: define(2, 3, compareByEdits),
  JAROWINKLER_SIMILARITY: jaroWinkler,
  SOUNDEX: ofText(renderSoundex),
  COLLATE: define(2, 2, collate),
  PARSE_URL: define(1, 2, parseUrl),
  ENCRYPT: refuse(
    'encryption is not supported: keep the value in a secret, or encrypt it before it is loaded',
  ),
  PARSE_XML: xml,
  CHECK_XML: xml,
  XMLGET: xml,
  TO_XML: xml,
  DECRYPT: refuse('decryption is not supported: decrypt the value before it is loaded'),
};
