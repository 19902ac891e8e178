/** What `git push --porcelain` says of each ref. */

export interface RejectedRef {
  name: string;
  /** In brackets: `remote rejected`, `rejected`; then the reason of git or of the host. */
  reason: string;
}

export interface PushResult {
  /** The push was not atomic, because the host cannot. */
  lacksAtomic: boolean;
  rejected: readonly RejectedRef[];
}

/**
 * Lines are `FLAG\tFROM:TO\tSUMMARY (REASON)`, the flag of a rejected ref is `!`. Names are Latin-1, as in
 * remote-refs.ts.
 */
export function parsePushResult(stdout: Buffer, stderr: string): PushResult {
  const rejected: RejectedRef[] = [];
  for (const line of stdout.toString('latin1').split('\n')) {
    const [flag, refs = '', summary = ''] = line.split('\t');
    if (flag !== '!') continue;
    const name = refs.slice(refs.indexOf(':') + 1);
    rejected.push({ name, reason: Buffer.from(summary, 'latin1').toString('utf8').slice(0, 500) });
  }
  return { lacksAtomic: /does not support --atomic/i.test(stderr), rejected };
}

/** In an atomic push, refs that were rejected only because another one was are not the reason. */
export function findGuiltyRefs(rejected: readonly RejectedRef[]): readonly RejectedRef[] {
  const guilty = rejected.filter(
    ({ reason }) => !/atomic push fail|transaction aborted|atomic transaction failed/i.test(reason),
  );
  return guilty.length === 0 ? rejected : guilty;
}
