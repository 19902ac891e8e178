/**
 * The artifacts of one execution from the cache: its own version, and the versions of shared pipelines that
 * its start has chosen.
 */
import type { IgnoredPipeline, PipelineExecutionWork, SharedArtifact } from '@headgate/contract';
import type { ArtifactCache, HeldArtifact } from '../artifacts/artifact-cache.ts';
import type { PlacedArtifact, PlacedShared } from '../engine/run-messages.ts';
import { getReason } from '../log.ts';

export interface AcquiredArtifacts {
  artifact: PlacedArtifact;
  shared: PlacedShared[];
  release(): void;
}

interface Wanted {
  digest: string;
  ignored: readonly IgnoredPipeline[] | undefined;
}

/**
 * All lie in the project's own folder, where its SQL may read them. A shared one that cannot be had fails the
 * steps that use it, which may never run; without its own artifact there is no run.
 */
export async function acquireArtifacts(
  cache: Pick<ArtifactCache, 'acquire'>,
  work: PipelineExecutionWork,
  signal: AbortSignal,
): Promise<AcquiredArtifacts> {
  const held: HeldArtifact[] = [];
  const release = () => {
    for (const each of held) each.release();
  };
  async function acquire({ digest, ignored = [] }: Wanted): Promise<PlacedArtifact> {
    const artifact = await cache.acquire(work.projectId, digest, signal);
    held.push(artifact);
    const { folder, paths } = artifact;
    return { folder, paths, ignored };
  }
  try {
    const artifact = await acquire({ digest: work.artifactDigest, ignored: work.ignoredPipelines });
    const shared: PlacedShared[] = [];
    for (const told of work.sharedArtifacts ?? []) shared.push(await placeShared(told, acquire, signal));
    return { artifact, shared, release };
  } catch (error) {
    release();
    throw error;
  }
}

async function placeShared(
  told: SharedArtifact,
  acquire: (wanted: Wanted) => Promise<PlacedArtifact>,
  signal: AbortSignal,
): Promise<PlacedShared> {
  const { sharedPipelineIdPrefix: prefix, requestedVersionName, versionName = '', artifactDigest } = told;
  const use = {
    prefix,
    ...(requestedVersionName === undefined ? {} : { versionName: requestedVersionName }),
  };
  if (artifactDigest === undefined) return { use, fault: told.fault ?? 'there is no such version' };
  try {
    return {
      use,
      versionName,
      artifact: await acquire({ digest: artifactDigest, ignored: told.ignoredPipelines }),
    };
  } catch (error) {
    signal.throwIfAborted();
    const which = `version "${versionName}" of the shared pipelines "${prefix}"`;
    return { use, fault: `${which} could not be fetched: ${getReason(error)}` };
  }
}
