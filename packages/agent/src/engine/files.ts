/** Files named by pipelines: of the artifact, or of the agent's files folder. Only the folder is written to. */
import type { ArtifactFiles, RunFiles } from './ports.ts';

type Files = { files: Omit<RunFiles, 'close'> };

/** The absolute path of a file to read, from the artifact or else from the files folder. @throws FileError */
export async function findFileToRead(
  { files }: Files,
  artifact: ArtifactFiles,
  path: string,
): Promise<string> {
  return artifact.place(path) ?? files.find(path);
}

/** A file as text, from the artifact or else from the files folder. @throws FileError */
export async function readFileText({ files }: Files, artifact: ArtifactFiles, path: string): Promise<string> {
  return (await artifact.read(path)) ?? files.read(path);
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
