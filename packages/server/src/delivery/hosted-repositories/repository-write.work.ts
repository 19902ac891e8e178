/** Ends the writes of servers that died between git's change of refs and the event. */
import { join } from 'node:path';
import { Problem } from '../../kernel/http/problems.ts';
import { createPlaces } from '../../kernel/work/places.ts';
import type { HeldWork } from '../../kernel/work/server-work.ts';
import type { ServerWorkKind } from '../../kernel/work/server-worker.ts';
import { type GitRepository, openGitRepository, removeLeftLocks, restoreDamagedRefs } from '../git/index.ts';
import { type RefChange, readUnfinishedWrite, writeKind } from './hosted.store.ts';
import type { HostedRepositories, HostedServices } from './hosted-repositories.ts';
import { recordWrite } from './recorded-write.ts';

export function createRepositoryWriteWork(
  services: HostedServices & { hosted: HostedRepositories },
): ServerWorkKind {
  return {
    kind: writeKind,
    name: 'unfinished pushes',
    lookMilliseconds: 5_000,
    leaseSeconds: 20,
    places: createPlaces(4, 1),
    run: (held) => endWrite(services, held),
  };
}

/** How many branches are looked at. */
const mostCompared = 20;

/** A branch whose present head contains what the write made of it shows that git had moved it. */
async function listMovedOn(
  repository: GitRepository,
  moves: readonly RefChange[],
  found: ReadonlyMap<string, string>,
): Promise<RefChange[]> {
  const compared = moves.filter(({ name }) => name.startsWith('refs/heads/')).slice(0, mostCompared);
  const types = await repository.readTypes(compared.flatMap(({ to }) => to ?? []));
  const movedOn: RefChange[] = [];
  for (const move of compared) {
    const head = found.get(move.name);
    if (head === undefined || move.to === null || types.get(move.to) !== 'commit') continue;
    if (await repository.isAncestor(move.to, head)) movedOn.push(move);
  }
  return movedOn;
}

async function judgeMoves(
  repository: GitRepository,
  moves: readonly RefChange[],
): Promise<{ changes: readonly RefChange[]; standing: readonly RefChange[] }> {
  const refs = await repository.listRefs(['refs/']);
  const found = new Map(refs.map(({ name, objectId }) => [name, objectId]));
  const isAt = (name: string, objectId: string | null) => (found.get(name) ?? null) === objectId;
  const standing = moves.filter(({ name, to }) => isAt(name, to));
  const unmoved = moves.filter(({ name, from, to }) => isAt(name, from) && !isAt(name, to));
  if (standing.length > 0 && unmoved.length > 0 && standing.length + unmoved.length === moves.length)
    if (await tryToFinish(repository, unmoved)) return { changes: moves, standing: moves };
  const rest = moves.filter((move) => !standing.includes(move) && !unmoved.includes(move));
  const movedOn = await listMovedOn(repository, rest, found);
  const proved = [...standing, ...movedOn];
  // With none left behind, one that git has moved shows that it moved all.
  return { changes: unmoved.length === 0 && proved.length > 0 ? moves : proved, standing };
}

/** Git killed while it moved many refs leaves some of them unmoved. False: one was changed meanwhile. */
async function tryToFinish(repository: GitRepository, unmoved: readonly RefChange[]): Promise<boolean> {
  try {
    return await repository.updateRefs(unmoved);
  } catch (failure) {
    if (failure instanceof Problem && failure.code === 'ref-refused') return false;
    throw failure;
  }
}

async function endWrite(
  services: HostedServices & { hosted: HostedRepositories },
  held: HeldWork,
): Promise<void> {
  const write = await readUnfinishedWrite(services.database.read, held);
  const { account_id: accountId, work_id: writeId } = held;
  const { project_id: projectId, actor_id: actorId, actor_kind: actorKind, request_id: requestId } = write;
  // The end of a write deletes its row, and so its work. Who finds no row records nothing.
  const ids = { accountId, projectId, writeId };
  const source = { accountId, actorId, actorKind, requestId };
  // A write on another host.
  if (write.moves.length === 0) return recordWrite(services, ids, { source, changes: [] });
  const { folder } = services.hosted;
  await folder.require();
  const at = join(folder.path, `${projectId}.git`);
  await removeLeftLocks(at);
  // A push of many refs is safe on disk only at its end (moveRefs).
  await restoreDamagedRefs(services.git, at, write.moves);
  const repository = openGitRepository(services.git, { folder: at, accountId });
  // A branch that has moved on was pushed to by another caller, whose own write wakes its rules.
  await recordWrite(services, ids, { source, ...(await judgeMoves(repository, write.moves)) });
}
