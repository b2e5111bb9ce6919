/** From when so much of all is taken, there is little left… */
const scarceFrom = 0.75;
/** …and nobody gets more of it who has this part of all already. */
const smallShare = 1 / 200;

/** How many one line may have at most. When little is left it goes to those who have little, so that a handful of tenants cannot shut out all others. */
export function allowedInLine({ taken, all, most }: { taken: number; all: number; most: number }): number {
  return taken < all * scarceFrom ? most : Math.min(most, Math.max(1, Math.floor(all * smallShare)));
}
