/**
 * Acquires the artifacts of one execution from the cache: its own version and its versions of shared
 * pipelines.
 */
import type { IgnoredPipeline, RunMembers, SharedArtifact } from '@headgate/contract';
import type { ArtifactCache, HeldArtifact } from '../artifacts/artifact-cache.ts';
import type { PlacedArtifact, PlacedShared } from '../engine/ports/run-messages.ts';
import { getReason } from '../log.ts';

export interface AcquiredArtifacts {
  artifact: PlacedArtifact;
  shared: PlacedShared[];
  release(): void;
}

interface ArtifactFiles {
  digest: string;
  ignored: readonly IgnoredPipeline[] | undefined;
}

/**
 * All artifacts are in the project's folder, where its SQL may read them. If a shared artifact cannot be
 * fetched, only the steps that use it fail. If the execution's own artifact cannot be fetched, the run fails.
 */
export async function acquireArtifacts(
  cache: Pick<ArtifactCache, 'acquire'>,
  work: RunMembers,
  signal: AbortSignal,
): Promise<AcquiredArtifacts> {
  const held: HeldArtifact[] = [];
  const release = () => {
    for (const each of held) each.release();
  };
  async function acquire({ digest, ignored = [] }: ArtifactFiles): Promise<PlacedArtifact> {
    const artifact = await cache.acquire(work.projectId, digest, signal);
    held.push(artifact);
    const { folder, index } = artifact;
    return { digest, folder, index, ignored };
  }
  try {
    const artifact = await acquire({ digest: work.artifactDigest, ignored: work.ignoredPipelines });
    const shared: PlacedShared[] = [];
    for (const chosen of work.sharedArtifacts ?? []) shared.push(await placeShared(chosen, acquire, signal));
    return { artifact, shared, release };
  } catch (error) {
    release();
    throw error;
  }
}

async function placeShared(
  chosen: SharedArtifact,
  acquire: (expected: ArtifactFiles) => Promise<PlacedArtifact>,
  signal: AbortSignal,
): Promise<PlacedShared> {
  const { sharedPipelineIdPrefix: prefix, requestedVersionName, versionName = '', artifactDigest } = chosen;
  const use = {
    prefix,
    ...(requestedVersionName === undefined ? {} : { versionName: requestedVersionName }),
  };
  if (artifactDigest === undefined) return { use, fault: chosen.fault ?? 'there is no such version' };
  try {
    return {
      use,
      versionName,
      artifact: await acquire({ digest: artifactDigest, ignored: chosen.ignoredPipelines }),
    };
  } catch (error) {
    signal.throwIfAborted();
    const which = `version "${versionName}" of the shared pipelines "${prefix}"`;
    return { use, fault: `${which} could not be fetched: ${getReason(error)}` };
  }
}
