/** What a client sends to a PostgreSQL server, with other statements: simple queries, and those that are prepared. */
import { Transform } from 'node:stream';

const headerLength = 5;
const [query, parse] = ['Q', 'P'].map((letter) => letter.charCodeAt(0));

export function createRewriting(rewrite: (sql: string) => string): Transform {
  let waiting = Buffer.alloc(0);
  let isStarted = false;
  return new Transform({
    transform(bytes: Buffer, _encoding, done) {
      waiting = Buffer.concat([waiting, bytes]);
      for (;;) {
        // The first message has no type.
        const lead = isStarted ? 1 : 0;
        if (waiting.length < headerLength - 1 + lead) break;
        const length = lead + waiting.readUInt32BE(lead);
        if (waiting.length < length) break;
        const message = waiting.subarray(0, length);
        waiting = waiting.subarray(length);
        this.push(isStarted ? rewriteMessage(message, rewrite) : message);
        isStarted = true;
      }
      done();
    },
  });
}

function rewriteMessage(message: Buffer, rewrite: (sql: string) => string): Buffer {
  const [code] = message;
  if (code !== query && code !== parse) return message;
  // A prepared statement has a name before its text.
  const from = code === query ? headerLength : message.indexOf(0, headerLength) + 1;
  const to = message.indexOf(0, from);
  const text = Buffer.from(rewrite(message.toString('utf8', from, to)));
  const rewritten = Buffer.concat([message.subarray(0, from), text, message.subarray(to)]);
  rewritten.writeUInt32BE(rewritten.length - 1, 1);
  return rewritten;
}
