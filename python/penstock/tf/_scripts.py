"""The script of every character, as Unicode has it, by ICU's numbers.

Runs of characters of one script: their lengths, of three bytes each, then one byte
for each that is its script + 1.
"""

from __future__ import annotations

import base64
import functools
import zlib
from typing import Any

import numpy as np

_RUNS = (
    "c-o~{Ta#5+5ngNWeeN@JX6DTGFjp96U@qK-Ap;~Z1SLr&29P8`f+-#_)sZA1HHn2-36(^nF;SE%iBKwP"
    "#6&GC-h$Dn#M1H?nDQwPKKtO4`l4m8uTO7!&jqMTeTOw`_g<^JSKn4|b~#sfE{}1&bKbcs#+-BAm<(ck"
    "&$}@Y`4>6Y;oM2*61<8*k-0Y$uW!?N2gaSwwK&)6+~=|JO%O*h--J=N+~!=-xfNi@>Qx}xWA4GhXMaN&"
    "%UD^*{0WRJb@A=Wd;<hAal2C1VIl|b!(4bWs~P7yF>lACtm$`dKNPECaa~Vc#H0MWKq(kIB%qhfngm<C"
    "zVd3`USo&6zFojG%8sedIkP@iCI#acp0~kJ@~ULqw3xr>Q#Na2eN|OKP1sT}YnHQv<!S8@V?n&g4($*f"
    "sU6beBt{LdoMUt37+NLZV|PW_5bDH&W}~^pd@CM{hMqvfNGYk2%b=H*Vp7f?b}_4hNtx8h5m;Gn(`GKg"
    "(5g|F(%UiVF%I=AA{Cl9<|^W`tQKQiZPN(h_+Op1t>j&gp>$(G&QS7t1c_=+#=Aiu!Q+_D)ACZ#Q?sng"
    "NPjDf=@Y6p|GCFlsbGW(Wv!VH-*Baf-fAejF%H29QU)IaMUHbe3YpHY?!{OE&t}!Xg7^{VcEE<#Ymyg_"
    "s#)?n+EguRoG|?`cuv3qdq9-JD`DJZiY?Cv)c&l)Bwp3ENXB}iK9#joOICyhsU|I;v|+)0U^0d6bIxr>"
    "gfL|ml&U7t2Iwq$Mw%l<J#url)a0|}A_p&ve>Z9drP;R!<2GH%f4Yn#M$NpqsPcQgry`W=G{#zV7td>^"
    "qL$RKOgX4^-m87m?af#}gmfDQanzhh*sj3Xh9H#kbs-AXTVmrf<jqG7kMPRJ^^#q$ch)@4TUaUuX0=eX"
    "XwsE5s&9Q{5eMK|DHn%v@b~eUR>;(by%3S8ofCECL)lu*l!tYm(^P#_E9Ve0y$N%P;W<q9>!}Yp_l9%V"
    "dISBx`va3#lQ7-}=^SH|J|xsptSsUNe+;r_G~LEwVF_0W=2@)VgRu#eAzbTTD^EqUfVbSQ^s*jyP+N|Y"
    "hK(&{yHWk5BTBP49Tzxd!o*mjO!jGyA=_V{2ugP273V@S?4I)B?WYh11sp+ot-1*bzv$j)Zl@4_$FaQ?"
    "rsl~O=ho;!TC@4SO4Grse}(x=rY;Scp0J`9)07%2USxsv+D+|H){CzRl)4d`HV+cm?A$YYO{XP@t+&_Y"
    "pybOGCeN!AH)@_ri#UQ^F&=YTNC!*+BoH?aUu@74DwY{h4hig5L;;k5Imc1q1LrO*=2x%jk%jZ5X+P4_"
    "b!iL?!D2-X?9>9{+&<k^S1-(AOAj>Zz{+)+gR;x^B>gHkF?~n@9OO5qcSi{!Ar9)&?5-)pb}ib{$gzFy"
    "K`u<g{?j1l)iNw-)Hm{F+|<JeX(emMQ8D^(1gTp0ga3fK>`qg1do^J4TD{xBWDFaR>W4!GbTRm@MVEV8"
    "wB>@^j-!>eU%Hi!G`*2+p|kB`&a`b(_rC1h5q&j)hDYpk1=f~pi^Kb)nnZcnvxW{tj=Tlo8fh=hsd^3H"
    "DaTN>n^ey<<%>q=0n_=5i_2O7Bds<S@E64nAYg)M->6PgdP|lyr-qDuS`Y@-N|WYmE>d$9^=NrRUv1|3"
    "^sqko`l>o>lV1H7<51pDs3lqFKRNeq*{x3+BK}f!cSY`<VYf93tOm2C`>5t}UM*18k|oMZlh0;<D{_xG"
    "_er#KiF%<8NoNmL(bDvv?r=Ij^ZP!8G;8wjm9V@I#V5vI`GR}JyQJifYd;ffCZ?AN|Blq$zd#uSaffm!"
    "YETVe*><E1pW>o+l?TDC7bW^ZXn0rlqtAX$dJP+IEU?R5MnyyKGwG8vAFA^90o*AgzVTuHN))`7Q}^x5"
    "HI}uRW;@NMziK5<FH@0z(uW>TnDC!J>kYM5ThMf6TkJjp;vLTYQI%X_q}WM$ssDM%FGcj(7JUJq<$iW$"
    "Vhorp5>Zy0<Wx#dDVrs(e4}GO22WMZhe=g)hnf5oElu5g63VWU=?U`)lE1~lrxJBC&V%z|Z6rFh)0;Kf"
    "DusH$l<w1z^>J+mn$&mc7j#aqm|p$fFR9Q1Ja}H4C^<qtaUWa>1#qS{<kSb?_Iy`hyRqL5Ho1Yw{XOUI"
    "t+}`VQI>+nxqQ~Se{x9tFY@&T$or`3tJL@x#(-kA6qP6eI)K;%@;74mcoi|?Q94A2o}=gJLB=YI32Q1*"
    "#aD8)Jlbx8)*E2x1{k>sRxgb%S`I5RSh)<w$d6I)l2~&cehu|E6X2U`O>}b<7;6V;*bmbLW75+Utpj?1"
    "KF=V*TH2_Xp&7be&@)T3$4L><PR6M@nma&@r%FMWQxy5@pnA1buQGUyD5^I?Vp)VOzRo}1NuDKe7-@77"
    "upZ-9+Di2z6~zE|1S~#p$x}PP8`=Y+8jsY;8g}|_-%WX{5eF@G^PgIvghe#Yc<~sOUI=Q`S&#a5=I{ue"
    "WK{O~eJAKdjrNk?OMClix1j$lot-zLd1I9|F3i(B%LoX1)YA+ALU2orvqlt^<b>hTLo_t1kwRW?$^bMr"
    "8%#$}(BpyAAPu(A!?cCA?4TV~-aJjy^b^LH=rZF0V8eAhO;3OA9G#=@2OOazPtucg@GHdFMp=B}tMpmM"
    "GxW@}^z0cr^EnDQOdkulN>^F)_kefk*Ytb(4c!@VnoiR<8J}T%mtNxl|2E?XDZb8lIfLls1%w|nzQgz-"
    "<8?+KU1WR@_ywJ(^M9Z$-UWV6Kcg%3W&=M0-pb&Y2EU>gLsmaVg1Z^tq8I2Jz)Ot#QoK!{04`nd*VwO@"
    "=+ZSFx;r_xy6FOaQPGImG#jc7C*CqXO#xd|{I-GLF<xc70chBKSS%3U>FL9uJp+$){y#-kJJ<"
)
_RUN_COUNT = 1587


@functools.cache
def _runs() -> tuple[Any, Any]:
    """Where runs begin, and their scripts; behind the last character -1."""
    data = np.frombuffer(zlib.decompress(base64.b85decode(_RUNS)), np.uint8)
    parts = data[: 3 * _RUN_COUNT].reshape(-1, 3).astype(np.int64)
    ends = np.cumsum(parts @ np.array([1, 1 << 8, 1 << 16]))
    scripts = np.append(data[3 * _RUN_COUNT :].astype(np.int32) - 1, np.int32(-1))
    return ends, scripts


def scripts_of(points: Any) -> Any:
    """The scripts of code points; -1 of what is none."""
    ends, scripts = _runs()
    found = scripts[np.searchsorted(ends, points, side="right")]
    return np.where(np.less(points, 0), np.int32(-1), found)
