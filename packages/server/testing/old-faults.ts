/** Faults of objects that old programs made and public repositories still have: git only warns of them. */
import { makeCommitObject, makeObject, makeTreeObject, type RawObject } from './raw-push.ts';

const blob = makeObject('blob', 'type: orchestration\n');
const file = { mode: '100644', name: 'main.orch.yaml', id: blob.id };
const tree = makeTreeObject([file]);
const folderWithZero = makeTreeObject([{ mode: '040000', name: 'folder', id: tree.id }, file]);
const right = 'Ada <ada@example.com> 1700000000 +0000';

const byAuthor = (author: string) =>
  makeObject('commit', `tree ${tree.id}\nauthor ${author}\ncommitter ${right}\n\nm\n`);

const commits: Readonly<Record<string, RawObject>> = {
  badTimezone: byAuthor('Ada <ada@example.com> 1700000000 +51800'),
  missingSpaceBeforeDate: byAuthor('Ada <ada@example.com>1700000000 +0000'),
  badEmail: byAuthor('Ada <ada<example.com> 1700000000 +0000'),
  missingEmail: byAuthor('Ada 1700000000 +0000'),
  missingNameBeforeEmail: byAuthor('<ada@example.com> 1700000000 +0000'),
  badName: byAuthor('Ada> <ada@example.com> 1700000000 +0000'),
  zeroPaddedDate: byAuthor('Ada <ada@example.com> 01700000000 +0000'),
  badDateOverflow: byAuthor('Ada <ada@example.com> 99999999999999999999 +0000'),
  zeroPaddedFilemode: makeCommitObject(folderWithZero.id),
};

/** The id of the fault in git, and the objects of a commit that has it, with the commit at the end. */
export const oldFaults: readonly (readonly [fault: string, objects: readonly RawObject[]])[] = Object.entries(
  commits,
).map(([fault, commit]) => [
  fault,
  [blob, tree, ...(fault === 'zeroPaddedFilemode' ? [folderWithZero] : []), commit],
]);
