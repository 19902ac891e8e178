/** Reads objects by `git cat-file --batch`. Names go by its standard input, so that none can be an option. */
import type { Readable } from 'node:stream';
import { problem } from '../../kernel/http/problems.ts';
import type { Git, GitCall } from './git.ts';
import { isObjectId } from './ref-name.ts';

export interface ObjectHead {
  objectId: string;
  type: string;
  size: number;
}

/** @param names in the syntax of git-rev-parse(1), without line breaks */
export async function readHeads(
  git: Git,
  call: GitCall,
  names: readonly string[],
): Promise<(ObjectHead | undefined)[]> {
  const stdin = names.map((name) => `${name}\n`).join('');
  const { code, stdout, stderr } = await git.run(['cat-file', '--batch-check'], { ...call, stdin });
  if (code !== 0) throw problem('git-failed', { command: 'cat-file', words: stderr });
  const lines = stdout.toString('utf8').split('\n');
  // An ambiguous short id is told in more than one line; it stands for nothing.
  const heads = lines.slice(0, -1).map(parseHead);
  return heads.length === names.length ? heads : names.map(() => undefined);
}

function parseHead(line: string): ObjectHead | undefined {
  const [objectId = '', type = '', size = ''] = line.split(' ');
  return isObjectId(objectId) && /^\d+$/.test(size) ? { objectId, type, size: Number(size) } : undefined;
}

/** @throws `git-answer-too-large` for one that is larger than `mostBytes` */
export async function* readObjects(
  git: Git,
  call: GitCall,
  { names, mostBytes }: { names: readonly string[]; mostBytes: number },
): AsyncGenerator<{ head: ObjectHead; content: Buffer } | undefined> {
  if (names.length === 0) return;
  const started = await git.spawn(['cat-file', '--batch'], call);
  try {
    started.stdin.end(names.map((name) => `${name}\n`).join(''));
    const reader = createReader(started.stdout);
    for (const name of names) {
      const line = await reader.readLine();
      if (line === undefined) {
        const { stderr } = await started.ended;
        throw problem('git-failed', { command: 'cat-file', words: stderr || `it ended before ${name}` });
      }
      const head = parseHead(line);
      if (head === undefined) yield undefined;
      else {
        if (head.size > mostBytes) throw problem('git-answer-too-large', { bytes: mostBytes });
        const content = await reader.readBytes(head.size + 1);
        yield { head, content: content.subarray(0, head.size) };
      }
    }
  } catch (failure) {
    // Why git ended, such as its time limit, says more than that its output did.
    if (isPrematureClose(failure)) await started.ended;
    throw isPrematureClose(failure)
      ? problem('git-failed', { command: 'cat-file', words: 'it was ended' })
      : failure;
  } finally {
    started.kill();
  }
}

const isPrematureClose = (failure: unknown) =>
  failure instanceof Error && 'code' in failure && failure.code === 'ERR_STREAM_PREMATURE_CLOSE';

function createReader(stream: Readable) {
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let rest: Buffer = Buffer.alloc(0);

  async function readBytes(wanted: number): Promise<Buffer> {
    const parts = [rest];
    let bytes = rest.length;
    while (bytes < wanted) {
      const next = await chunks.next();
      if (next.done === true)
        throw problem('git-failed', { command: 'cat-file', words: 'it ended too early' });
      parts.push(next.value);
      bytes += next.value.length;
    }
    const all = Buffer.concat(parts);
    rest = all.subarray(wanted);
    return all.subarray(0, wanted);
  }

  return {
    readBytes,
    async readLine(): Promise<string | undefined> {
      let at = rest.indexOf(10);
      while (at < 0) {
        const next = await chunks.next();
        if (next.done === true) return undefined;
        rest = Buffer.concat([rest, next.value]);
        at = rest.indexOf(10);
      }
      const line = rest.subarray(0, at).toString('utf8');
      rest = rest.subarray(at + 1);
      return line;
    },
  };
}
