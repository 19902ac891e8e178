/** Tools that read and write the files of the working copy. */
import { Type } from 'typebox';
import { countOf } from '../../kernel/count-of.ts';
import { declareTool, object, PathInput, quote, type ToolServices } from './declared-tool.ts';
import { maskSecrets, restoreSecrets } from './masking.ts';
import type { Tool, ToolContext } from './tool/tool.ts';
import { ToolFault } from './tool/tool-fault.ts';
import {
  type CopyFile,
  decodeText,
  findPath,
  isInFolder,
  openCopy,
  requirePath,
  trimFolder,
  type WorkingCopy,
  writeEdit,
} from './working-copy.ts';

const listLimit = 2_000;
const matchLimit = 100;
const lineLimit = 300;
const readLimit = 50_000;
const contentLimit = 1_048_576;

const FolderInput = Type.Optional(
  Type.String({ maxLength: 1_024, description: 'Only files in this folder and below. Default: all' }),
);

export function createFileTools(services: ToolServices): Tool[] {
  return [
    createListTool(services),
    createReadTool(services),
    createSearchTool(services),
    createWriteTool(services),
    createDeleteTool(services),
  ];
}

/** The files that the task sees, in a folder. */
export function listVisible(context: ToolContext, copy: WorkingCopy, folder?: string): CopyFile[] {
  const start = trimFolder(folder);
  return copy.files.filter(
    ({ path }) => isInFolder(context, path) && (start === '' || path.startsWith(`${start}/`)),
  );
}

function createListTool(services: ToolServices): Tool {
  return declareTool({
    name: 'list_files',
    description: 'List the files of the project with their sizes in bytes.',
    input: object({ folder: FolderInput }),
    async run(context, { folder }) {
      const copy = await openCopy(services, context);
      const files = listVisible(context, copy, folder);
      const lines = files.slice(0, listLimit).map(({ path, size }) => {
        const mark = copy.uncommitted.has(path) ? ', not committed' : '';
        return `${path} (${countOf(size, 'byte')}${mark})`;
      });
      if (files.length > listLimit) lines.push(`and ${files.length - listLimit} more: name a folder`);
      return lines.length === 0 ? 'There are no files here.' : lines.join('\n');
    },
  });
}

function createReadTool(services: ToolServices): Tool {
  return declareTool({
    name: 'read_file',
    masksItself: true,
    description:
      'Read a text file. Values that look like secrets are shown as marks such as [secret 1-0a1b2c3d]; write the marks back as they are to keep them.',
    input: object({
      path: PathInput,
      fromLine: Type.Optional(Type.Integer({ minimum: 1, description: 'The first line to read, from 1' })),
    }),
    async run(context, { path, fromLine = 1 }) {
      const copy = await openCopy(services, context);
      const text = await requireText(context, copy, path);
      // Marks are numbered by the whole file.
      const { text: masked } = maskSecrets(text, copy.row.mark_key);
      const from =
        fromLine === 1
          ? masked
          : masked
              .split('\n')
              .slice(fromLine - 1)
              .join('\n');
      if (from.length <= readLimit) return from;
      const cut = from.slice(0, from.lastIndexOf('\n', readLimit) + 1 || readLimit).toWellFormed();
      const next = fromLine + cut.split('\n').length - 1;
      return `${cut}[cut: read on with fromLine ${next}]`;
    },
  });
}

/** @throws ToolFault */
export async function requireText(context: ToolContext, copy: WorkingCopy, path: string): Promise<string> {
  requirePath(context, path);
  const found = findPath(copy, path);
  const bytes = found === undefined ? undefined : await copy.read(found);
  if (bytes === undefined) throw new ToolFault(`there is no file ${quote(path)}`);
  const text = decodeText(bytes);
  if (text === undefined) throw new ToolFault(`${quote(path)} is not a text file`);
  return text;
}

function createSearchTool(services: ToolServices): Tool {
  return declareTool({
    name: 'search_files',
    masksItself: true,
    description: 'Find lines that contain a text, regardless of case, in the text files of the project.',
    input: object({ text: Type.String({ minLength: 1, maxLength: 500 }), folder: FolderInput }),
    async run(context, { text, folder }) {
      const copy = await openCopy(services, context);
      const lowerText = text.toLowerCase();
      const found: string[] = [];
      for await (const { path, bytes } of copy.readAll(listVisible(context, copy, folder))) {
        context.signal.throwIfAborted();
        const content = decodeText(bytes);
        if (content === undefined) continue;
        // Masked before the search, so that a secret cannot be guessed letter by letter.
        for (const [index, line] of maskSecrets(content, copy.row.mark_key).text.split('\n').entries()) {
          if (!line.toLowerCase().includes(lowerText)) continue;
          found.push(`${path}:${index + 1}: ${line.trim().slice(0, lineLimit)}`);
          if (found.length === matchLimit)
            return [...found, 'and perhaps more: search in a folder'].join('\n');
        }
      }
      return found.length === 0 ? `No line contains ${quote(text)}.` : found.join('\n');
    },
  });
}

function createWriteTool(services: ToolServices): Tool {
  return declareTool({
    name: 'write_file',
    description:
      'Write a whole text file, new or existing. The change is visible to other tools at once, and to people when it is committed.',
    input: object({ path: PathInput, content: Type.String({ maxLength: contentLimit }) }),
    asks: ({ path, content }, context) => {
      requirePath(context, path);
      return {
        title: `Write ${quote(path)}`,
        body: `Writes ${countOf(Buffer.byteLength(content), 'byte')} to the file ${quote(path)} of the working copy. Nothing is committed or published.`,
      };
    },
    async run(context, { path, content }) {
      const copy = await openCopy(services, context);
      requirePath(context, path);
      const found = findPath(copy, path);
      // The same call was made before. Its marks may be those of the file before it.
      if (copy.editCalls.get(found ?? path) === context.callId) return `Wrote ${quote(found ?? path)}.`;
      const bytes = found === undefined ? undefined : await copy.read(found);
      const earlier = bytes === undefined ? '' : (decodeText(bytes) ?? '');
      const restored = requireRestored(path, content, { earlier, key: copy.row.mark_key });
      if (restored.includes('\0') || !restored.isWellFormed())
        throw new ToolFault('the content is not a text');
      requireRoomForFile(copy, path);
      if (bytes !== undefined && restored === earlier) return `${quote(path)} has this content already.`;
      await writeEdit(services, context, copy, { path: found ?? path, content: restored });
      return `${bytes === undefined ? 'Created' : 'Changed'} ${quote(found ?? path)}.`;
    },
  });
}

/** @throws ToolFault */
function requireRestored(path: string, content: string, file: { earlier: string; key: string }): string {
  const restored = restoreSecrets(content, file);
  if ('text' in restored) return restored.text;
  const { fault, mark } = restored;
  const reasons: Record<typeof fault, string> = {
    unknown: `the content has the mark ${mark}, which ${quote(path)} does not have now: read the file again. A secret cannot be copied from another file`,
    readable: `${mark} stands where its secret could be read: leave it behind the name that it had`,
    'too-often': `${mark} stands so often that the file would be too long: write it once`,
  };
  throw new ToolFault(reasons[fault]);
}

/** A file must not stand where a folder is, nor below a file. */
function requireRoomForFile({ files }: WorkingCopy, path: string): void {
  if (files.some((file) => file.path.startsWith(`${path}/`)))
    throw new ToolFault(`${quote(path)} is a folder`);
  const above = files.find((file) => path.startsWith(`${file.path}/`));
  if (above !== undefined) throw new ToolFault(`${quote(above.path)} is a file, so it cannot be a folder`);
}

function createDeleteTool(services: ToolServices): Tool {
  return declareTool({
    name: 'delete_file',
    description: 'Delete a file.',
    input: object({ path: PathInput }),
    asks: ({ path }, context) => {
      requirePath(context, path);
      return {
        title: `Delete ${quote(path)}`,
        body: `Deletes the file ${quote(path)} of the working copy. Nothing is committed or published.`,
      };
    },
    async run(context, { path }) {
      const copy = await openCopy(services, context);
      requirePath(context, path);
      const found = findPath(copy, path);
      // The same call was made before.
      if (found === undefined && copy.edits.get(path) === null) return `${quote(path)} is deleted.`;
      if (found === undefined) throw new ToolFault(`there is no file ${quote(path)}`);
      await writeEdit(services, context, copy, { path: found, content: null });
      return `${quote(found)} is deleted.`;
    },
  });
}
