/** The artifacts that a run takes its pipelines from. */
import { type Pipeline, parsePipeline, type SharedPipelineUse, sharedUseLimit } from '@headgate/pipelines';
import type { ArtifactFiles, RunPorts, RunRequest } from './ports.ts';
import type { RunArtifact } from './run-context.ts';

export function ownArtifact({ versionName }: RunRequest, { artifact }: RunPorts): RunArtifact {
  return { ...reading(artifact, ''), versionName, title: `version "${versionName}"` };
}

/** Each version is one artifact, however many uses it is chosen for. */
export function sharedArtifacts(ports: RunPorts): (use: SharedPipelineUse) => RunArtifact {
  const artifacts = new Map<string, RunArtifact>();
  return (use) => {
    const chosen = ports.shared(use);
    if (chosen === undefined) throw new Error(notChosen(use));
    if ('fault' in chosen) throw new Error(chosen.fault);
    const { versionName, files } = chosen;
    const title = `version "${versionName}" of the shared pipelines "${use.prefix}"`;
    const key = JSON.stringify([use.prefix, versionName]);
    const artifact = artifacts.get(key) ?? { ...reading(files, `${use.prefix}/`), versionName, title };
    artifacts.set(key, artifact);
    return artifact;
  };
}

/** `before` goes before the paths of its pipelines, so that messages tell them from those of other artifacts. */
function reading(files: ArtifactFiles, before: string): Pick<RunArtifact, 'files' | 'pipeline'> {
  const pipelines = new Map<string, Promise<Pipeline | undefined>>();
  return {
    files,
    pipeline(path) {
      const found = pipelines.get(path) ?? readPipeline(files, path, before);
      pipelines.set(path, found);
      return found;
    },
  };
}

async function readPipeline(
  files: ArtifactFiles,
  path: string,
  before: string,
): Promise<Pipeline | undefined> {
  const text = await files.read(path);
  if (text === undefined) return undefined;
  const { pipeline, error } = parsePipeline(path, text);
  const shown = `${before}${path}`;
  if (pipeline !== undefined) return { ...pipeline, path: shown };
  throw new Error(`${shown} cannot be read: line ${error.line}, column ${error.column}: ${error.message}`);
}

function notChosen({ prefix, versionName }: SharedPipelineUse): string {
  const wanted = versionName === undefined ? 'the latest version' : `version "${versionName}"`;
  return (
    `${wanted} of the shared pipelines "${prefix}" was not looked up when the execution started: publish the version that uses it again, ` +
    `and let an execution use at most ${sharedUseLimit} versions of shared pipelines`
  );
}
