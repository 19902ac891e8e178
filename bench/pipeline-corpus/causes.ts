/** Groups failures by what caused them. */

const names = /"[^"\n]{1,300}"|'[^'\n]{1,300}'/g;

/** The words of a message without names and places, so that equal faults have equal words. */
export function describeCause(message: string): string {
  const missing = /the component type "([^"]+)"/.exec(message)?.[1];
  if (missing !== undefined) return `component type ${missing}`;
  const lines = message.split('\n');
  const first = lines[0]?.startsWith('not started, because') ? (lines[1] ?? '') : (lines[0] ?? '');
  return first
    .replace(/^not started: /, '')
    .replace(/^[^:]{1,300}\.(?:orch|tran)\.yaml(?::\d+)?:? ?/, '')
    .replace(/^(?:line \d+|component "[^"]{1,300}"|the component "[^"]{1,300}")(?: \([^)]{1,100}\))?: /, '')
    .replaceAll(names, '…')
    .replaceAll(/\d+/g, 'n')
    .slice(0, 140);
}
