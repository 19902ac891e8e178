/** Text of tenants for a line that people read: of a mail, or of a message in a chat. */

/** By characters, so that none is cut in two. */
export function cutText(text: string, most: number): string {
  // A character has two units at most.
  const characters = [...text.slice(0, 2 * most + 2)];
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join('')}…`;
}

/**
 * Line breaks and control characters become spaces: names may have them, headers may not. Format characters, which
 * may reverse the direction of a text, go too.
 */
export const renderLine = (text: string, most: number) =>
  cutText(text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').replaceAll(/\p{Cf}+/gu, ''), most).trim();
