/** A request to the server that is answered by an agent: the question, the wait, and the response under its key. */
import type { Operation } from '@headgate/contract';
import type { AccountEvent } from '../database/events.ts';
import type { Wakes } from '../database/wakes.ts';
import type { Answer, Answered, AwaitedWork, LongCall, Services } from '../endpoint/endpoint.ts';
import type { Problem } from '../http/problems.ts';
import { type AgentAnswer, type AgentRequest, askAgent, waitForAnswer } from './agent-request.ts';

export interface AnswerServices extends Services {
  wakes: Wakes;
  /** How long a request waits until an agent takes its work. */
  secretWaitSeconds: number;
  stopping: AbortSignal;
}

export interface AgentQuestion extends Omit<AgentRequest, 'accountId' | 'requestId' | 'until'> {
  /** How long the agent may take, once it has the work. */
  seconds: number;
  /** Of the transaction that asks. */
  events?(requestId: string): readonly AccountEvent[];
}

type Asking = Pick<LongCall<never>, 'scope' | 'now' | 'newId'> & {
  awaited: Pick<AwaitedWork<never>, 'begin'>;
};

/** The first transaction: the work and its events. */
export function beginQuestion(
  { scope, now, newId, awaited }: Asking,
  { wakes, secretWaitSeconds }: Pick<AnswerServices, 'wakes' | 'secretWaitSeconds'>,
  { seconds, events, ...question }: AgentQuestion,
) {
  const requestId = newId();
  const until = new Date(now.getTime() + secretWaitSeconds * 1_000);
  const pendingUntil = new Date(until.getTime() + seconds * 1_000);
  return awaited.begin({ workId: requestId, until: pendingUntil }, (tx) => {
    askAgent(tx, wakes, { ...question, accountId: scope.accountId, requestId, until }, now);
    return events?.(requestId) ?? [];
  });
}

export interface AnswerReader<Op extends Operation> {
  /** @throws Problem if the agent could not do it */
  read(answer: AgentAnswer): Answer<Op>;
  /** @param seconds how long the request has waited */
  createTimeout(seconds: number): Problem;
}

/** Asks, and waits for the response. A request that gets none gives up its key, so that it can be repeated. */
export async function answerByAgent<Op extends Operation>(
  call: LongCall<Op>,
  services: AnswerServices,
  question: AgentQuestion,
  { read, createTimeout }: AnswerReader<Op>,
): Promise<Answered> {
  const { awaited, scope } = call;
  const begun = (await awaited.findEarlier()) ?? (await beginQuestion(call, services, question));
  if ('answer' in begun) return begun.answer;
  const { workId } = begun.pending;
  const seconds = services.secretWaitSeconds + question.seconds;
  const place = { accountId: scope.accountId, projectId: question.projectId };
  const found = await waitForAnswer(services, seconds, workId, place);
  let answer: Answer<Op>;
  try {
    if (found === undefined) throw createTimeout(seconds);
    answer = read(found);
  } catch (failure) {
    await awaited.giveUp(workId);
    throw failure;
  }
  return awaited.finish(workId, answer);
}
