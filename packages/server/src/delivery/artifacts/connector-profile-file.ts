/** Connector profiles among the files of a version: a run uses the profile of its version, so it must be readable. */
import { connectorProfileBytes } from '@headgate/contract';
import { describeProfileFinding, readProfileText, type Unreadable } from '@headgate/pipelines';

/** Why a profile cannot be used; undefined if it can. */
export function findProfileFault(bytes: Buffer): Unreadable | undefined {
  if (bytes.length > connectorProfileBytes)
    return {
      reason: `it has ${bytes.length} bytes; a connector profile has at most ${connectorProfileBytes}`,
      line: 1,
    };
  const { findings } = readProfileText(bytes.toString('utf8'));
  const [first] = findings;
  if (first === undefined) return undefined;
  const more = findings.length === 1 ? '' : ` (and ${findings.length - 1} more)`;
  const reason = describeProfileFinding(first);
  // A fault of the syntax says where it is.
  const line = Number(/\(line (\d+) /.exec(reason)?.[1] ?? 1);
  return { reason: `${reason}${more}`, line };
}
