/**
 * Reviews the pipelines of a version, a branch or a request, in a thread with limited time and memory. Each file is
 * read alone, and only its facts are kept, so that memory does not grow with the files.
 */
import {
  createUnreadableReview,
  type FileReview,
  fileBytesLimit,
  fileMillisecondsLimit,
  type PipelineFacts,
  pipelineTypeOf,
  type RuleFinding,
  type RulesFile,
  rulesFileLimit,
  rulesFilePaths,
  rulesFileRule,
  type ServerFacts,
} from '@headgate/pipelines';
import { problem } from '../../kernel/http/problems.ts';
import { createWorkThread, TooCostly } from '../../kernel/threads/work-thread.ts';
import type { ReviewOrder, ReviewPart } from './review-order.ts';

export interface SourceFile {
  path: string;
  size: number;
}

/** The files to review. */
export interface ReviewSource {
  files: readonly SourceFile[];
  /** The contents of some of them, in the same order. */
  read(files: readonly SourceFile[]): AsyncIterable<Buffer>;
}

export interface ReviewResult {
  isPassed: boolean;
  /** By path, in the order of the paths. */
  findings: ReadonlyMap<string, readonly RuleFinding[]>;
}

export type Reviewer = (
  accountId: string,
  source: ReviewSource,
  server?: ServerFacts,
) => Promise<ReviewResult>;

const usualMegabytes = 96;
const mostMegabytes = 320;
const waiting = { ofOne: 64, inAll: 1_000 };
/** Bytes of the pipelines of one review, and its time with all of them. */
export const reviewBytesLimit = 64 * 1_048_576;
const reviewMilliseconds = 120_000;

/** `milliseconds` is for one file. */
export function createReviewer(
  limits = { milliseconds: fileMillisecondsLimit, inAll: reviewMilliseconds },
): Reviewer {
  const thread = createWorkThread<ReviewOrder, ReviewPart>({
    module: new URL('./review.thread.ts', import.meta.url),
    megabytes: usualMegabytes,
    waiting,
    refuse: () => problem('overloaded'),
  });

  function run(accountId: string, order: ReviewOrder): Promise<ReviewPart> {
    const { milliseconds } = limits;
    return thread.run(accountId, order, { milliseconds, megabytes: usualMegabytes }).catch((failure) => {
      if (!(failure instanceof TooCostly) || failure.limit !== 'memory') throw failure;
      return thread.run(accountId, order, { milliseconds, megabytes: mostMegabytes });
    });
  }

  async function reviewOne(accountId: string, order: ReviewOrder): Promise<FileReview> {
    try {
      const part = await run(accountId, order);
      if (part.of !== 'file') throw new Error('The thread answered another order.');
      return part;
    } catch (failure) {
      if (!(failure instanceof TooCostly)) throw failure;
      return createUnreadableReview(`reviewing it ${failure.message}`);
    }
  }

  async function reviewFiles(accountId: string, source: ReviewSource, rules: readonly RulesFile[]) {
    const pipelines = source.files.filter(({ path }) => pipelineTypeOf(path) !== undefined);
    requireSize(pipelines);
    const findings = new Map<string, RuleFinding[]>();
    const facts: PipelineFacts[] = [];
    const skipped = new Set<string>();
    const until = performance.now() + limits.inAll;
    let index = 0;
    for await (const bytes of source.read(pipelines)) {
      const { path } = pipelines[index] as SourceFile;
      index += 1;
      if (performance.now() > until) throw createTimeProblem(limits.inAll, index, pipelines.length);
      const review =
        bytes.length > fileBytesLimit
          ? createUnreadableReview(
              `it has ${bytes.length} bytes, and a pipeline has at most ${fileBytesLimit}`,
            )
          : await reviewOne(accountId, {
              of: 'file',
              path,
              text: bytes.toString('utf8'),
              rules,
              skipped: [...skipped],
            });
      if (review.facts !== undefined) facts.push(review.facts);
      addFindings(findings, path, review.findings);
      for (const { file, rule, line, level, message } of review.failures) {
        skipped.add(rule);
        addFindings(findings, file, [{ rule: rulesFileRule, level, line, message }]);
      }
    }
    return { findings, facts };
  }

  return async (accountId, source, server) => {
    const rules = await readRulesFiles(source);
    const { findings, facts } = await reviewFiles(accountId, source, rules);
    const project = await run(accountId, { of: 'project', facts, server, rules }).catch((failure) => {
      if (!(failure instanceof TooCostly)) throw failure;
      throw problem('review-too-large', { reason: `comparing them ${failure.message}` });
    });
    if (project.of !== 'project') throw new Error('The thread answered another order.');
    for (const { file, line, level, message } of project.faults)
      addFindings(findings, file, [{ rule: rulesFileRule, level, line, message }]);
    for (const [path, found] of project.findings) addFindings(findings, path, found);
    const isPassed = ![...findings.values()].some((found) => found.some(({ level }) => level === 'ERROR'));
    return { isPassed, findings: new Map([...findings].sort(([one], [other]) => (one < other ? -1 : 1))) };
  };
}

function addFindings(to: Map<string, RuleFinding[]>, path: string, found: readonly RuleFinding[]): void {
  if (found.length > 0) to.set(path, [...(to.get(path) ?? []), ...found]);
}

/** Only the beginning of a file that is too large, which is a fault of it. */
async function readRulesFiles({ files, read }: ReviewSource): Promise<RulesFile[]> {
  const chosen = rulesFilePaths.flatMap((path) => files.filter((file) => file.path === path));
  const rules: RulesFile[] = [];
  for await (const bytes of read(chosen)) {
    const text = bytes.toString('utf8').slice(0, rulesFileLimit + 1);
    rules.push({ path: chosen[rules.length]?.path ?? '', text });
  }
  return rules;
}

/** Throws `review-too-large`. */
function requireSize(pipelines: readonly SourceFile[]): void {
  const bytes = pipelines.reduce((sum, { size }) => sum + size, 0);
  if (bytes <= reviewBytesLimit) return;
  const reason = `they have ${bytes} bytes, and a review reads at most ${reviewBytesLimit}; divide the project`;
  throw problem('review-too-large', { reason });
}

function createTimeProblem(milliseconds: number, index: number, count: number) {
  const reason = `after ${milliseconds / 1_000} s only ${index} of ${count} were read; divide the project, or simplify the rules of your own`;
  return problem('review-too-large', { reason });
}
