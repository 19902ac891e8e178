/**
 * Files named by pipelines: of the artifact, of the agent's files folder, or at an address. Only the folder is
 * written to.
 */
import { type Action, isFileAddress } from '@headgate/pipelines';
import type { ArtifactFiles, RunPorts, Warehouse } from '../ports/ports.ts';
import type { Session } from '../session/session.ts';
import { FileError } from './run-files.ts';

type Files = Pick<RunPorts, 'files'>;

export interface OpenedFile extends AsyncDisposable {
  /** Absolute. */
  path: string;
  /** For messages: the path in the pipeline, or the address without its query, which may be a signature. */
  name: string;
}

/**
 * A file to read, from an address, the artifact, or else the files folder. What was downloaded is removed at its
 * disposal.
 *
 * @throws FileError, or Error with the reason why there is no download
 */
export async function openFileToRead(
  { files, download }: Pick<RunPorts, 'files' | 'download'>,
  artifact: ArtifactFiles,
  source: string,
  limit: AbortSignal | undefined,
): Promise<OpenedFile> {
  if (!isFileAddress(source)) {
    const path = artifact.place(source) ?? (await files.find(source));
    return { path, name: source, async [Symbol.asyncDispose]() {} };
  }
  const url = URL.parse(source);
  // Without a user, a password and the query, which may be a signature.
  const name = url === null ? 'the address' : `${url.origin}${url.pathname}`;
  const path = await download(source, true, limit).catch((error: Error) => {
    error.message = `${name} was not loaded: ${error.message}`;
    throw error;
  });
  return { path, name, [Symbol.asyncDispose]: () => files.endWrite(path, false) };
}

/** A file as text, from the artifact or else from the files folder. @throws FileError */
export async function readFileText({ files }: Files, artifact: ArtifactFiles, path: string): Promise<string> {
  return (await artifact.read(path)) ?? files.read(path);
}

/** @throws FileError about the first fault that a check of the component finds in the file */
export async function requireLoadable(
  checks: Extract<Action, { action: 'load-file' }>['checks'],
  { path, name }: OpenedFile,
  warehouse: Pick<Session, 'query'> | Pick<Warehouse, 'query'>,
): Promise<void> {
  for (const { query, findFault } of checks) {
    // A file that cannot be read at all is refused by the load, which says more.
    const first = await warehouse.query(query(path), 1).catch(() => undefined);
    const cells = first?.rows[0]?.map((cell) => String(cell ?? ''));
    const fault = cells === undefined ? undefined : findFault(cells);
    if (fault !== undefined) throw new FileError(`the file "${name}" was not loaded: ${fault}`);
  }
}

/**
 * An error of the warehouse with the name that the pipeline gave the file, not its path on this machine. DuckDB cuts
 * long lines of the statement that it quotes, and so also the path: the quote, which the pipeline did not write, is
 * left out.
 */
export function nameFile(error: unknown, { path, name }: Pick<OpenedFile, 'path' | 'name'>): unknown {
  if (error instanceof Error) {
    const message = error.message.replaceAll(path, name);
    const quote = message.search(/^LINE \d+: /m);
    error.message = quote < 0 ? message : message.slice(0, quote).trimEnd();
  }
  return error;
}

/**
 * Writes a file in the files folder atomically: `write` gets a temporary path beside the target, which is
 * renamed to the target afterwards. Readers see the old file or the new one, never a part. Creates missing
 * folders.
 *
 * @throws FileError, or what `write` throws
 */
export async function writeFileAtomically<T>(
  { files }: Files,
  path: string,
  write: (path: string) => Promise<T>,
): Promise<T> {
  const partial = await files.beginWrite(path);
  let isComplete = false;
  try {
    const result = await write(partial);
    isComplete = true;
    return result;
  } finally {
    await files.endWrite(partial, isComplete);
  }
}
