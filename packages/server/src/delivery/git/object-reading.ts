/** Reads objects by `git cat-file --batch`. Names go by its standard input, so that none can be an option. */
import { problem } from '../../kernel/http/problems.ts';
import type { Git, GitCall, GitProcess } from './git.ts';
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

const silentMilliseconds = 60_000;
/** The process lives as long as its reader takes, such as an upload to a slow storage. Longer ones are hung. */
const longestMilliseconds = 6 * 3_600_000;

/**
 * The time limit of the call counts while git is awaited, and not while the caller works on what it got.
 * @throws `git-answer-too-large` for one that is larger than `mostBytes`, `git-timeout`
 */
export async function* readObjects(
  git: Git,
  call: GitCall,
  { names, mostBytes }: { names: readonly string[]; mostBytes: number },
): AsyncGenerator<{ head: ObjectHead; content: Buffer } | undefined> {
  if (names.length === 0) return;
  const { timeoutMilliseconds = silentMilliseconds } = call;
  const started = await git.spawn(['cat-file', '--batch'], {
    ...call,
    timeoutMilliseconds: longestMilliseconds,
  });
  try {
    started.stdin.end(names.map((name) => `${name}\n`).join(''));
    const reader = createReader(started, timeoutMilliseconds);
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

function createReader({ stdout, kill }: GitProcess, milliseconds: number) {
  const chunks = stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let rest: Buffer = Buffer.alloc(0);

  async function readChunk(): Promise<IteratorResult<Buffer, undefined>> {
    let isSilent = false;
    const timer = setTimeout(() => {
      isSilent = true;
      kill();
    }, milliseconds);
    try {
      const next = await chunks.next();
      if (!isSilent) return next;
    } catch (failure) {
      if (!isSilent) throw failure;
    } finally {
      clearTimeout(timer);
    }
    throw problem('git-timeout', { seconds: Math.ceil(milliseconds / 1_000) });
  }

  async function readBytes(expected: number): Promise<Buffer> {
    const parts = [rest];
    let bytes = rest.length;
    while (bytes < expected) {
      const next = await readChunk();
      if (next.done === true)
        throw problem('git-failed', { command: 'cat-file', words: 'it ended too early' });
      parts.push(next.value);
      bytes += next.value.length;
    }
    const all = Buffer.concat(parts);
    rest = all.subarray(expected);
    return all.subarray(0, expected);
  }

  return {
    readBytes,
    async readLine(): Promise<string | undefined> {
      let at = rest.indexOf(10);
      while (at < 0) {
        const next = await readChunk();
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
