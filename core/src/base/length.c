/* base/length.c - the one-byte document length of Lucene's SmallFloat.
 *
 * BM25 needs the length of a field only roughly; one byte a document keeps
 * the lengths of a segment in cache. Lengths below 24 are exact, above that
 * (length - 24) keeps its four highest bits. Scores equal Lucene's only if
 * the same lengths are rounded the same way.
 *
 * Invariant: decode(encode(n)) <= n, and encode(decode(b)) == b for every
 *   byte.
 * Threads: any.
 * Owns: the meaning of the length byte on disk.
 */
#include "base/base.h"

#define EXACT 24u /* lengths below it stand for themselves */

uint8_t grb_length_encode(uint32_t length) {
    if (length < EXACT) return (uint8_t)length;
    if (length > INT32_MAX) return UINT8_MAX;
    uint32_t v = length - EXACT;
    if (v < 8) return (uint8_t)(EXACT + v);
    uint32_t shift = 28u - (uint32_t)__builtin_clz(v);
    return (uint8_t)(EXACT + ((shift + 1) << 3 | (v >> shift & 7)));
}

const uint32_t grb_length_decode[256] = {
    0u,          1u,          2u,          3u,          4u,
    5u,          6u,          7u,          8u,          9u,
    10u,         11u,         12u,         13u,         14u,
    15u,         16u,         17u,         18u,         19u,
    20u,         21u,         22u,         23u,         24u,
    25u,         26u,         27u,         28u,         29u,
    30u,         31u,         32u,         33u,         34u,
    35u,         36u,         37u,         38u,         39u,
    40u,         42u,         44u,         46u,         48u,
    50u,         52u,         54u,         56u,         60u,
    64u,         68u,         72u,         76u,         80u,
    84u,         88u,         96u,         104u,        112u,
    120u,        128u,        136u,        144u,        152u,
    168u,        184u,        200u,        216u,        232u,
    248u,        264u,        280u,        312u,        344u,
    376u,        408u,        440u,        472u,        504u,
    536u,        600u,        664u,        728u,        792u,
    856u,        920u,        984u,        1048u,       1176u,
    1304u,       1432u,       1560u,       1688u,       1816u,
    1944u,       2072u,       2328u,       2584u,       2840u,
    3096u,       3352u,       3608u,       3864u,       4120u,
    4632u,       5144u,       5656u,       6168u,       6680u,
    7192u,       7704u,       8216u,       9240u,       10264u,
    11288u,      12312u,      13336u,      14360u,      15384u,
    16408u,      18456u,      20504u,      22552u,      24600u,
    26648u,      28696u,      30744u,      32792u,      36888u,
    40984u,      45080u,      49176u,      53272u,      57368u,
    61464u,      65560u,      73752u,      81944u,      90136u,
    98328u,      106520u,     114712u,     122904u,     131096u,
    147480u,     163864u,     180248u,     196632u,     213016u,
    229400u,     245784u,     262168u,     294936u,     327704u,
    360472u,     393240u,     426008u,     458776u,     491544u,
    524312u,     589848u,     655384u,     720920u,     786456u,
    851992u,     917528u,     983064u,     1048600u,    1179672u,
    1310744u,    1441816u,    1572888u,    1703960u,    1835032u,
    1966104u,    2097176u,    2359320u,    2621464u,    2883608u,
    3145752u,    3407896u,    3670040u,    3932184u,    4194328u,
    4718616u,    5242904u,    5767192u,    6291480u,    6815768u,
    7340056u,    7864344u,    8388632u,    9437208u,    10485784u,
    11534360u,   12582936u,   13631512u,   14680088u,   15728664u,
    16777240u,   18874392u,   20971544u,   23068696u,   25165848u,
    27263000u,   29360152u,   31457304u,   33554456u,   37748760u,
    41943064u,   46137368u,   50331672u,   54525976u,   58720280u,
    62914584u,   67108888u,   75497496u,   83886104u,   92274712u,
    100663320u,  109051928u,  117440536u,  125829144u,  134217752u,
    150994968u,  167772184u,  184549400u,  201326616u,  218103832u,
    234881048u,  251658264u,  268435480u,  301989912u,  335544344u,
    369098776u,  402653208u,  436207640u,  469762072u,  503316504u,
    536870936u,  603979800u,  671088664u,  738197528u,  805306392u,
    872415256u,  939524120u,  1006632984u, 1073741848u, 1207959576u,
    1342177304u, 1476395032u, 1610612760u, 1744830488u, 1879048216u,
    2013265944u,
};
