/** Connector profiles among the files of a version: a run uses the profile of its version, so it must be readable. */
import { connectorProfileBytes } from '@headgate/contract';
import {
  describeProfileFinding,
  outlineProfile,
  type ProfileOutline,
  readProfileText,
  type Unreadable,
} from '@headgate/pipelines';

type ProfileFile =
  | { outline: ProfileOutline; fault?: undefined }
  | { outline?: undefined; fault: Unreadable };

/** What pipelines name in a profile, or why it cannot be used. */
export function readProfileFile(bytes: Buffer): ProfileFile {
  if (bytes.length > connectorProfileBytes) {
    const reason = `it has ${bytes.length} bytes; a connector profile has at most ${connectorProfileBytes}`;
    return { fault: { reason, line: 1 } };
  }
  const { profile, findings } = readProfileText(bytes.toString('utf8'));
  if (profile !== undefined) return { outline: outlineProfile(profile) };
  const [first = { path: '', message: 'it cannot be read' }] = findings;
  const more = findings.length === 1 ? '' : ` (and ${findings.length - 1} more)`;
  const reason = describeProfileFinding(first);
  // A fault of the syntax says where it is.
  const line = Number(/\(line (\d+) /.exec(reason)?.[1] ?? 1);
  return { fault: { reason: `${reason}${more}`, line } };
}
