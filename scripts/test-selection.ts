/** What `npm test` was asked for: which tiers, which files, and which options go to `node --test`. */
import { TIERS, type Tier } from './test-tiers.ts';

export interface TestSelection {
  tiers: readonly Tier[];
  /** Parts of file paths; a file with one of them runs. None: all files run. */
  parts: string[];
  /** Options of `node --test`, passed on as they are. */
  nodeOptions: string[];
  /** Only the tests that concern what differs from this revision. */
  changedSince?: string;
  /** Print the files that took longest. */
  showsSlowest: boolean;
}

const TIER_OPTIONS = TIERS.map((tier) => `[--${tier}]`).join(' ');
const USAGE = `npm test -- ${TIER_OPTIONS} [--changed[=revision]] [--slowest] [--test-…=…] [part-of-a-path …]`;

/** @throws when an option is unknown */
export function readTestSelection(args: readonly string[]): TestSelection {
  const options = args.filter((arg) => arg.startsWith('-'));
  const tiers = TIERS.filter((tier) => options.includes(`--${tier}`));
  const nodeOptions = options.filter((option) => option.startsWith('--test-'));
  const changed = options.find((option) => /^--changed(=.+)?$/.test(option));
  const known = new Set([...tiers.map((tier) => `--${tier}`), ...nodeOptions, '--slowest', changed]);
  const unknown = options.find((option) => !known.has(option));
  if (unknown !== undefined) throw new Error(`There is no option ${unknown}. Usage: ${USAGE}`);
  return {
    tiers: tiers.length === 0 ? TIERS : tiers,
    parts: args.filter((arg) => !arg.startsWith('-')),
    nodeOptions,
    ...(changed === undefined ? {} : { changedSince: changed.slice('--changed='.length) || 'HEAD' }),
    showsSlowest: options.includes('--slowest'),
  };
}

/** The chosen files by tier. @throws when there is none */
export function selectTestFiles(
  { tiers, parts }: Pick<TestSelection, 'tiers' | 'parts'>,
  files: readonly string[],
  tierOf: (file: string) => Tier,
): Record<Tier, string[]> {
  const named = files.filter((file) => parts.length === 0 || parts.some((part) => file.includes(part)));
  if (named.length === 0) throw new Error(`No test file has ${quoteParts(parts)} in its path.`);
  const selected: Record<Tier, string[]> = { unit: [], slices: [], acceptance: [] };
  for (const file of named.toSorted()) selected[tierOf(file)].push(file);
  for (const tier of TIERS) if (!tiers.includes(tier)) selected[tier] = [];
  if (TIERS.every((tier) => selected[tier].length === 0)) {
    const where = [...new Set(named.map(tierOf))].join(', ');
    throw new Error(
      `No test file of the tier ${tiers.join(' or ')} has ${quoteParts(parts)} in its path; ` +
        `those that do are in: ${where}.`,
    );
  }
  return selected;
}

function quoteParts(parts: readonly string[]): string {
  return parts.map((part) => `'${part}'`).join(' or ');
}
