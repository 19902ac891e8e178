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
  rulesFileBytesLimit,
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

/** Whose review it is: accounts take turns, and so do the projects of each. */
export interface ReviewOwner {
  accountId: string;
  projectId: string;
}

export type Reviewer = (
  owner: ReviewOwner,
  source: ReviewSource,
  /** `rules` count in the place of the rules files of the source. */
  options?: { server?: ServerFacts; rules?: readonly RulesFile[] },
) => Promise<ReviewResult>;

/** The size up to which a review reads a file; undefined if it reads no such file. */
export function findBytesLimit(path: string): number | undefined {
  if (pipelineTypeOf(path) !== undefined) return fileBytesLimit;
  return rulesFilePaths.some((each) => each === path) ? rulesFileBytesLimit : undefined;
}

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

  function run({ accountId, projectId }: ReviewOwner, order: ReviewOrder): Promise<ReviewPart> {
    const { milliseconds } = limits;
    const owner = [accountId, projectId] as const;
    return thread.run(owner, order, { milliseconds, megabytes: usualMegabytes }).catch((failure) => {
      if (!(failure instanceof TooCostly) || failure.limit !== 'memory') throw failure;
      return thread.run(owner, order, { milliseconds, megabytes: mostMegabytes });
    });
  }

  async function reviewOne(owner: ReviewOwner, order: ReviewOrder): Promise<FileReview> {
    try {
      const part = await run(owner, order);
      if (part.of !== 'file') throw new Error('The thread answered another order.');
      return part;
    } catch (failure) {
      if (!(failure instanceof TooCostly)) throw failure;
      return createUnreadableReview(`reviewing it ${failure.message}`);
    }
  }

  async function reviewFiles(owner: ReviewOwner, source: ReviewSource, rules: readonly RulesFile[]) {
    const all = source.files.filter(({ path }) => pipelineTypeOf(path) !== undefined);
    requireSize(all);
    const { within: pipelines = [], above = [] } = Object.groupBy(all, groupBySize);
    const findings = new Map<string, RuleFinding[]>();
    for (const { path, size } of above) {
      const reason = `it has ${size} bytes, and a pipeline has at most ${fileBytesLimit}`;
      addFindings(findings, path, createUnreadableReview(reason).findings);
    }
    const facts: PipelineFacts[] = [];
    const skipped = new Set<string>();
    const until = performance.now() + limits.inAll;
    let index = 0;
    for await (const bytes of source.read(pipelines)) {
      const { path } = pipelines[index] as SourceFile;
      index += 1;
      if (performance.now() > until) throw createTimeProblem(limits.inAll, index, pipelines.length);
      const text = bytes.toString('utf8');
      const review = await reviewOne(owner, { of: 'file', path, text, rules, skipped: [...skipped] });
      if (review.facts !== undefined) facts.push(review.facts);
      addFindings(findings, path, review.findings);
      for (const { file, rule, line, level, message } of review.failures) {
        skipped.add(rule);
        addFindings(findings, file, [{ rule: rulesFileRule, level, line, message }]);
      }
    }
    return { findings, facts };
  }

  return async (owner, source, { server, rules: own } = {}) => {
    const rules = own ?? (await readRulesFiles(source));
    const { findings, facts } = await reviewFiles(owner, source, rules);
    const project = await run(owner, { of: 'project', facts, server, rules }).catch((failure) => {
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

function groupBySize({ path, size }: SourceFile): 'within' | 'above' {
  return size > (findBytesLimit(path) ?? 0) ? 'above' : 'within';
}

/** A file that is too large is not read, which is a fault of it. */
async function readRulesFiles({ files, read }: ReviewSource): Promise<RulesFile[]> {
  const all = rulesFilePaths.flatMap((path) => files.filter((file) => file.path === path));
  const { within = [] } = Object.groupBy(all, groupBySize);
  const texts = new Map<string, string>();
  for await (const bytes of read(within)) texts.set(within[texts.size]?.path ?? '', bytes.toString('utf8'));
  return all.map(({ path }) => ({ path, text: texts.get(path) }));
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
