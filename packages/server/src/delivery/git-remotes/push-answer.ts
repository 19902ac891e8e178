/** What another host made of a push of one ref. */

export type PushResult = { kind: 'done' } | { kind: 'moved' } | { kind: 'refused'; words: string };

/** `!\tfrom:to\t[rejected] (stale info)` of git push --porcelain. */
export async function judgePush(
  output: string,
  errors: string,
  explainFailure: () => Promise<Error>,
): Promise<PushResult> {
  const [, summary = ''] = /^!\t[^\t]*\t(.*)$/m.exec(output) ?? [];
  if (summary === '') throw await explainFailure();
  if (
    /stale info|fetch first|non-fast-forward|failed to update ref|incorrect old value|reference already exists|cannot lock ref/.test(
      summary,
    )
  )
    return { kind: 'moved' };
  const said = [...errors.matchAll(/^remote: (.*\S)\s*$/gm)].map(([, line]) => line).join(' ');
  return { kind: 'refused', words: `${said} ${summary}`.trim().slice(0, 1_000) };
}
