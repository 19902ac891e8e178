/** The artifacts from which a run reads its pipelines. */
import {
  connectorProfileName,
  outlineProfile,
  type ProfileOutline,
  readProfileText,
  type SharedPipelineUse,
  sharedUseLimit,
} from '@headgate/pipelines';
import type { RunArtifact } from '../context/run-context.ts';
import type { ArtifactFiles, RunPorts, RunRequest } from '../ports/ports.ts';
import type { ReadPipeline, RunCaches } from '../ports/run-caches.ts';

export function createOwnArtifact({ versionName }: RunRequest, { artifact, caches }: RunPorts): RunArtifact {
  return createArtifact(artifact, caches, { versionName, title: `version "${versionName}"`, prefix: '' });
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
      artifacts.get(key) ??
      createArtifact(files, ports.caches, { versionName, title, prefix: `${use.prefix}/` });
    artifacts.set(key, artifact);
    return artifact;
  };
}

/** `prefix` precedes the paths of its pipelines in messages, to distinguish artifacts. */
function createArtifact(
  files: ArtifactFiles,
  caches: RunCaches,
  { versionName, title, prefix }: { versionName: string; title: string; prefix: string },
): RunArtifact {
  const pipelines = new Map<string, Promise<ReadPipeline | undefined>>();
  function read(path: string): Promise<ReadPipeline | undefined> {
    const found = pipelines.get(path) ?? readPipeline(files, caches, path);
    pipelines.set(path, found);
    return found;
  }
  let profiles: Promise<Map<string, ProfileOutline>> | undefined;
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
      profiles() {
        profiles ??= readProfiles(files);
        return profiles;
      },
      async expressions(path) {
        const found = await read(path);
        return found === undefined || 'reason' in found ? [] : found.expressions;
      },
    },
  };
}

async function readPipeline(
  files: ArtifactFiles,
  retained: RunCaches,
  path: string,
): Promise<ReadPipeline | undefined> {
  if (!files.has(path)) return undefined;
  return retained.readPipeline(path, files.getDigest(path), () => files.read(path));
}

async function readProfiles(files: ArtifactFiles): Promise<Map<string, ProfileOutline>> {
  const profiles = new Map<string, ProfileOutline>();
  for (const path of files.paths) {
    if (connectorProfileName(path) === undefined) continue;
    const { profile } = readProfileText((await files.read(path)) ?? '');
    if (profile !== undefined) profiles.set(path, outlineProfile(profile));
  }
  return profiles;
}

function describeNotChosen({ prefix, versionName }: SharedPipelineUse): string {
  const version = versionName === undefined ? 'the latest version' : `version "${versionName}"`;
  return (
    `${version} of the shared pipelines "${prefix}" was not looked up when the execution started: publish the calling version again, ` +
    `and use at most ${sharedUseLimit} versions of shared pipelines in one execution`
  );
}
