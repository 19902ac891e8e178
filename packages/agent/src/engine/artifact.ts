/** The artifacts from which a run reads its pipelines. */
import {
  describeSyntaxError,
  readPipelineFile,
  type SharedPipelineUse,
  sharedUseLimit,
  type Unreadable,
} from '@headgate/pipelines';
import type { ArtifactFiles, RunPorts, RunRequest } from './ports.ts';
import type { RunArtifact } from './run-context.ts';

export function createOwnArtifact({ versionName }: RunRequest, { artifact }: RunPorts): RunArtifact {
  return createArtifact(artifact, { versionName, title: `version "${versionName}"`, prefix: '' });
}

/** Creates one artifact for each version, even if several uses refer to it. */
export function createSharedArtifacts(ports: RunPorts): (use: SharedPipelineUse) => RunArtifact {
  const artifacts = new Map<string, RunArtifact>();
  return (use) => {
    const chosen = ports.findShared(use);
    if (chosen === undefined) throw new Error(describeNotChosen(use));
    if ('fault' in chosen) throw new Error(chosen.fault);
    const { versionName, files } = chosen;
    const title = `version "${versionName}" of the shared pipelines "${use.prefix}"`;
    const key = JSON.stringify([use.prefix, versionName]);
    const artifact =
      artifacts.get(key) ?? createArtifact(files, { versionName, title, prefix: `${use.prefix}/` });
    artifacts.set(key, artifact);
    return artifact;
  };
}

type ReadPipeline = Exclude<ReturnType<typeof readPipelineFile>, { error: unknown }> | Unreadable;

/** `prefix` precedes the paths of its pipelines in messages, to distinguish artifacts. */
function createArtifact(
  files: ArtifactFiles,
  { versionName, title, prefix }: { versionName: string; title: string; prefix: string },
): RunArtifact {
  const pipelines = new Map<string, Promise<ReadPipeline | undefined>>();
  function read(path: string): Promise<ReadPipeline | undefined> {
    const found = pipelines.get(path) ?? readPipeline(files, path);
    pipelines.set(path, found);
    return found;
  }
  return {
    versionName,
    title,
    files,
    async pipeline(path) {
      const found = await read(path);
      if (found === undefined) return undefined;
      if ('reason' in found) throw new Error(`${prefix}${path} cannot be read: ${found.reason}`);
      return { ...found.pipeline, path: `${prefix}${path}` };
    },
    async lineOf(path, component) {
      const found = await read(path);
      return found === undefined || 'reason' in found ? 1 : found.lineOf(component);
    },
    checked: {
      prefix,
      title,
      paths: files.paths,
      unreadable: files.ignored,
      async outline(path) {
        const found = await read(path);
        return found === undefined || 'reason' in found ? found : found.outline;
      },
      async expressions(path) {
        const found = await read(path);
        return found === undefined || 'reason' in found ? [] : found.expressions;
      },
    },
  };
}

async function readPipeline(files: ArtifactFiles, path: string): Promise<ReadPipeline | undefined> {
  const text = await files.read(path);
  if (text === undefined) return undefined;
  const read = readPipelineFile(path, text);
  return 'error' in read ? { reason: describeSyntaxError(read.error), line: read.error.line } : read;
}

function describeNotChosen({ prefix, versionName }: SharedPipelineUse): string {
  const wanted = versionName === undefined ? 'the latest version' : `version "${versionName}"`;
  return (
    `${wanted} of the shared pipelines "${prefix}" was not looked up when the execution started: publish the calling version again, ` +
    `and use at most ${sharedUseLimit} versions of shared pipelines in one execution`
  );
}
