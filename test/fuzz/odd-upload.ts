/** Multipart forms, whole and broken. */
import type { TextEdit } from './odd-json.ts';

const boundary = 'boundary-of-the-fuzz';

export function multipartOf(
  parts: readonly { name: string; content: string }[],
  cuts: readonly { kind: TextEdit; at: number; odd: number }[],
): { text: string | undefined; mediaType: string } {
  const written = parts.map(
    ({ name, content }) =>
      `--${boundary}\r\ncontent-disposition: form-data; name="${name.replaceAll('"', '%22')}"; filename="file"\r\n` +
      `content-type: text/plain\r\n\r\n${content}\r\n`,
  );
  let text: string | undefined = `${written.join('')}--${boundary}--\r\n`;
  for (const { kind, at, odd } of cuts) {
    if (text === undefined) break;
    if (kind === 'twice') text = (written[0] ?? '') + text;
    else if (kind === 'cut off') text = text.slice(0, at);
    else if (kind === 'no body') text = odd % 2 === 0 ? undefined : '';
    else if (kind === 'garbage behind') text = `${text}garbage`;
    else if (kind === 'raw control character') text = text.replace('form-data;', 'form-data\x01;');
    else if (kind === 'huge number')
      text = text.replace('content-type', `${'x'.repeat(20_000)}: y\r\ncontent-type`);
    else text = text.replaceAll('\r\n', '\n');
  }
  return { text, mediaType: `multipart/form-data; boundary=${boundary}` };
}
