/** Above this fraction of the total, capacity is scarce… */
const scarceFrom = 0.75;
/** …and a line that already holds this fraction of the total gets no more. */
const smallShare = 1 / 200;

/** How many one line may hold. Scarce capacity is reserved for lines that hold little, so that a few tenants cannot lock out all others. */
export function allowedInLine({ taken, all, most }: { taken: number; all: number; most: number }): number {
  return taken < all * scarceFrom ? most : Math.min(most, Math.max(1, Math.floor(all * smallShare)));
}
