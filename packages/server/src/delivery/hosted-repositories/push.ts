/**
 * A push: commands, pack, judgement, refs, report. The pack is read into quarantine, so that a push that is
 * refused, cut or hostile changes nothing (docs/adr/0063).
 */
import { Problem, problem } from '../../kernel/http/problems.ts';
import type { GitRepository } from '../git/index.ts';
import type { HostedRepositories, HostedServices, Mover } from './hosted-repositories.ts';
import { tidyFullRepository } from './maintenance.ts';
import { flushPacket, formatBand, formatLine, type PacketReader } from './packet-lines.ts';
import { type BranchRules, type JudgedChange, judgeNames, judgeObjects } from './push-judgement.ts';
import { type PushRequest, readPushRequest } from './push-request.ts';
import { openQuarantine, PackRefusal, type Quarantine } from './quarantine.ts';

export interface PushServices extends HostedServices {
  hosted: HostedRepositories;
}

export interface PushAbout extends Mover {
  repository: GitRepository;
  rules: BranchRules;
  packets: PacketReader;
  signal: AbortSignal;
}

/** Objects of one push. */
const mostObjects = 2_000_000;
const resolveMilliseconds = 10_000;

/** @returns the answer to the client @throws BadPacket, and problems of the server */
export async function receivePush(services: PushServices, about: PushAbout): Promise<Buffer> {
  try {
    const request = await readPushRequest(about.packets);
    return request === undefined ? Buffer.alloc(0) : await answerPush(services, about, request);
  } finally {
    about.packets.close();
  }
}

async function answerPush(services: PushServices, about: PushAbout, request: PushRequest): Promise<Buffer> {
  const present = await about.repository.listRefs(['refs/']);
  const judged = judgeNames(request.changes, present, about.rules);
  const { folder } = about.repository;
  const quarantine = await openQuarantine(services.git, {
    folder,
    accountId: about.scope.accountId,
    id: services.newId(),
    limits: { bytes: services.config.git.mostBytes, objects: mostObjects, resolveMilliseconds },
    signal: about.signal,
  });
  try {
    if (request.changes.some(({ to }) => to !== null)) await quarantine.unpack(about.packets.rest());
    const changes = await moveJudged(services, about, { request, judged, quarantine });
    return report(request, 'ok', changes);
  } catch (failure) {
    if (!(failure instanceof PackRefusal)) throw failure;
    if (failure.isForSize) tidyFullRepository(services, { folder, accountId: about.scope.accountId });
    const changes = judged.map((each) => ({ ...each, refusal: each.refusal ?? 'the pack was refused' }));
    return report(request, failure.message, changes, failure.words);
  } finally {
    await quarantine.remove();
  }
}

async function moveJudged(
  services: PushServices,
  about: PushAbout,
  { request, judged, quarantine }: { request: PushRequest; judged: JudgedChange[]; quarantine: Quarantine },
): Promise<JudgedChange[]> {
  let changes = await judgeObjects(judged, quarantine.repository, about.rules);
  const isAllowed = ({ refusal }: JudgedChange) => refusal === undefined;
  const newIds = changes.filter(isAllowed).flatMap(({ to }) => (to === null ? [] : [to]));
  if (newIds.length > 0 && !(await quarantine.complete(newIds)))
    changes = changes.map((each) =>
      each.to === null ? each : { refusal: 'missing necessary objects', ...each },
    );
  if (request.isAtomic && !changes.every(isAllowed))
    return changes.map((each) => ({ refusal: 'atomic push failed', ...each }));
  const allowed = changes.filter(isAllowed);
  if (allowed.length === 0) return changes;
  await quarantine.release();
  const refusals = await moveOrExplain(services, about, allowed, request.isAtomic);
  return changes.map((each) => {
    const refusal = each.refusal ?? refusals.get(each.name);
    return refusal === undefined ? each : { ...each, refusal };
  });
}

/**
 * Moves all. If that fails and the push is not atomic, each half, and so on: one ref of many that cannot be
 * moved costs few attempts.
 */
async function moveOrExplain(
  services: PushServices,
  about: PushAbout,
  changes: readonly JudgedChange[],
  isAtomic: boolean,
): Promise<Map<string, string>> {
  const moves = changes.map(({ name, from, to }) => ({ name, from, to }));
  const refused = await tryToMove(services.hosted, about, moves);
  if (refused === undefined) return new Map();
  if (isAtomic || moves.length === 1 || !refused.isOfRefs)
    return new Map(moves.map(({ name }) => [name, refused.reason]));
  const middle = Math.ceil(changes.length / 2);
  const first = await moveOrExplain(services, about, changes.slice(0, middle), isAtomic);
  const second = await moveOrExplain(services, about, changes.slice(middle), isAtomic);
  return new Map([...first, ...second]);
}

async function tryToMove(
  hosted: HostedRepositories,
  about: PushAbout,
  moves: readonly JudgedChange[],
): Promise<{ reason: string; isOfRefs: boolean } | undefined> {
  try {
    if (await hosted.move(about.repository, about, moves)) return undefined;
    return { reason: 'it was changed meanwhile; fetch first', isOfRefs: true };
  } catch (failure) {
    // The client has sent its pack: it is told in the report.
    if (failure instanceof Problem && failure.status < 500)
      return { reason: failure.message, isOfRefs: failure.code === 'ref-refused' };
    throw failure;
  }
}

/** The report of gitprotocol-pack; in a side band if the client reads one. */
function report(
  { wantsReport, hasSideBand }: PushRequest,
  unpacked: string,
  changes: readonly JudgedChange[],
  words = '',
): Buffer {
  if (!wantsReport) return Buffer.alloc(0);
  const lines = changes.map(({ name, refusal }) =>
    formatLine(refusal === undefined ? `ok ${name}` : `ng ${name} ${inOneLine(refusal)}`),
  );
  const status = Buffer.concat([formatLine(`unpack ${inOneLine(unpacked)}`), ...lines, flushPacket]);
  if (!hasSideBand) return status;
  const messages = words === '' ? [] : [formatBand(2, Buffer.from(`${words}\n`))];
  return Buffer.concat([...messages, formatBand(1, status), flushPacket]);
}

const inOneLine = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, 500);

/** For a push that cannot be read. */
export const refusePush = (reason: string) => problem('invalid-push', { reason });
